import { orNull, texts } from '../../store/table.ts'
import type { RequestHeaders } from '../../vocabulary/call.ts'
import { allowsModel, type ModelLists, modelLists } from '../../vocabulary/model-lists.ts'
import { Problem, type ProblemCode } from '../../vocabulary/problem.ts'

/** The sender of a request: an account, by one of its keys. */
export interface Caller {
  readonly accountId: string
  readonly apiKeyId: string
  /** Whether paid credit was ever added to the account. */
  readonly hasBackedCredit: boolean
  /** The account's platform fee, in hundredths of a percent; null: the model's fee. */
  readonly feeBasisPoints: number | null
  /** The models that the caller may use; null: every model. */
  readonly models: ModelAccess | null
  /** The limits of the key and of its account; absent: neither has its own. */
  readonly ownLimits?: CallerLimits
}

/** Whether the limit of requests in a minute of its account is that of accounts without paid credit. */
export function isUnbacked({
  hasBackedCredit,
  ownLimits,
}: Pick<Caller, 'hasBackedCredit' | 'ownLimits'>): boolean {
  return !hasBackedCredit && (ownLimits?.accountRequestsPerMinuteMax ?? null) === null
}

/** The refusal of a request whose API key is known, although it may not be used. */
export class CallerRefused extends Problem {
  readonly caller: Pick<Caller, 'accountId' | 'apiKeyId'>

  constructor(code: ProblemCode, caller: Pick<Caller, 'accountId' | 'apiKeyId'>) {
    super(code)
    this.caller = caller
  }
}

/** Limits of a key and of its account; null: the deployment's limit. */
export interface CallerLimits {
  readonly keyRequestsPerMinuteMax: number | null
  readonly keyInFlightMax: number | null
  readonly accountRequestsPerMinuteMax: number | null
  readonly accountInFlightMax: number | null
}

/** An API key that has changed, or an account with all of its keys. */
export type ChangedCallers = { readonly apiKeyId: string } | { readonly accountId: string }

const BEARER = /^bearer +(\S.*)$/i

/** The keys that a request presents: a bearer token, then `x-api-key`. Some clients send both. */
export function readCredentials(headers: RequestHeaders): readonly string[] {
  const presented: string[] = []
  const authorization = single(headers['authorization'])
  const bearer = authorization === null ? undefined : BEARER.exec(authorization.trim())?.[1]
  if (bearer !== undefined) presented.push(bearer.trim())
  const apiKey = single(headers['x-api-key'])?.trim() ?? ''
  if (apiKey !== '') presented.push(apiKey)
  return presented
}

/** Headers in which clients of other services send their keys. */
const OTHER_HEADERS = ['api-key', 'x-goog-api-key', 'x-auth-token']

/** The 401 of a request without a known key. By position: its headers, and whether one of them has the shape of a key. */
export function refusalOf(
  headers: RequestHeaders,
  hasKeyShape: boolean,
): { readonly code: 'missing_api_key' | 'invalid_api_key'; readonly message?: string } {
  if (hasKeyShape) return { code: 'invalid_api_key' }
  if (readCredentials(headers).length > 0) {
    return {
      code: 'invalid_api_key',
      message:
        'This is not an API key of this gateway. Check it for missing characters and quotes, and that it ' +
        'is not the key of another service or an admin token.',
    }
  }
  const code = 'missing_api_key'
  if (single(headers['authorization']) !== null) {
    return {
      code,
      message: 'The `authorization` header has no API key: send `Authorization: Bearer <key>`.',
    }
  }
  const other = OTHER_HEADERS.find((name) => headers[name] !== undefined)
  if (other === undefined) return { code }
  const message = `The header \`${other}\` is not read: send the API key as \`Authorization: Bearer <key>\`.`
  return { code, message }
}

/** A header that is sent twice holds no valid key. */
function single(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null
  return typeof value === 'string' ? value : value.join(', ')
}

/** Lists of models as they are stored, of an account or of an API key. */
interface StoredLists {
  readonly allow: string | null
  readonly deny: string | null
}

/**
 * Which models a caller may use: those that the lists of both its API key and its account let through. Ids are compared
 * in any case, and must be the catalog's: other names of a model, and `[1m]` after one, are resolved before.
 */
export class ModelAccess {
  readonly #account: ModelLists | null
  readonly #apiKey: ModelLists | null

  private constructor(account: ModelLists | null, apiKey: ModelLists | null) {
    this.#account = account
    this.#apiKey = apiKey
  }

  /**
   * Null: the caller may use every model. Without a key, the lists of the account alone apply. Throws TypeError if
   * the store has no lists in their place.
   */
  static of({
    account,
    apiKey,
  }: {
    readonly account: StoredLists
    readonly apiKey: StoredLists | null
  }): ModelAccess | null {
    const [ofAccount, ofApiKey] = [listsOf(account), apiKey && listsOf(apiKey)]
    return ofAccount === null && ofApiKey === null ? null : new ModelAccess(ofAccount, ofApiKey)
  }

  /** Throws Problem `model_not_allowed` for a model that the caller may not use. */
  require(modelId: string): void {
    if (!allowsModel(this.#apiKey, modelId)) {
      throw notAllowed({ modelId, who: 'This API key', whose: 'the key' })
    }
    if (!allowsModel(this.#account, modelId)) {
      throw notAllowed({ modelId, who: 'The account of this API key', whose: 'the account' })
    }
  }

  /** Whether the caller may use a model. */
  mayUse(modelId: string): boolean {
    return allowsModel(this.#apiKey, modelId) && allowsModel(this.#account, modelId)
  }
}

function notAllowed({
  modelId,
  who,
  whose,
}: {
  readonly modelId: string
  readonly who: string
  readonly whose: string
}): Problem {
  return new Problem('model_not_allowed', {
    message: `${who} is not allowed to use the model "${modelId}". Use one that GET /v1/models lists for this key, or have \`models\` of ${whose} changed.`,
    param: 'model',
  })
}

function listsOf({ allow, deny }: StoredLists): ModelLists | null {
  if (allow === null && deny === null) return null
  return modelLists({ allow: patternsOf(allow, 'allow'), deny: patternsOf(deny, 'deny') })
}

function patternsOf(stored: string | null, column: keyof StoredLists): readonly string[] {
  return orNull(texts).read(stored, `models_${column}`) ?? []
}
