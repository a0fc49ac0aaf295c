import { orNull, texts } from '../../store/table.ts'
import { Problem } from '../../vocabulary/problem.ts'

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
  readonly #account: Lists | null
  readonly #apiKey: Lists | null

  private constructor(account: Lists | null, apiKey: Lists | null) {
    this.#account = account
    this.#apiKey = apiKey
  }

  /**
   * Null: the caller may use every model. Without a key, the lists of the account alone apply. Throws TypeError where
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
    if (!letsThrough(this.#apiKey, modelId)) {
      throw notAllowed({ modelId, who: 'This API key', whose: 'the key' })
    }
    if (!letsThrough(this.#account, modelId)) {
      throw notAllowed({ modelId, who: 'The account of this API key', whose: 'the account' })
    }
  }

  /** Whether the caller may use a model. */
  mayUse(modelId: string): boolean {
    return letsThrough(this.#apiKey, modelId) && letsThrough(this.#account, modelId)
  }
}

interface Refusal {
  readonly modelId: string
  readonly who: string
  readonly whose: string
}

function notAllowed({ modelId, who, whose }: Refusal): Problem {
  return new Problem('model_not_allowed', {
    message: `${who} may not use the model "${modelId}". Use one that GET /v1/models lists for this key, or have \`models\` of ${whose} changed.`,
    param: 'model',
  })
}

interface Lists {
  readonly allow: ReadonlySet<string>
  readonly deny: ReadonlySet<string>
}

function listsOf({ allow, deny }: StoredLists): Lists | null {
  if (allow === null && deny === null) return null
  return { allow: folded(allow, 'allow'), deny: folded(deny, 'deny') }
}

function folded(stored: string | null, column: keyof StoredLists): ReadonlySet<string> {
  const patterns = orNull(texts).read(stored, `models_${column}`) ?? []
  return new Set(patterns.map((pattern) => pattern.toLowerCase()))
}

function letsThrough(lists: Lists | null, modelId: string): boolean {
  if (lists === null) return true
  const name = modelId.toLowerCase()
  const ofAuthor = `${name.slice(0, name.indexOf('/'))}/*`
  if (lists.deny.has(name) || lists.deny.has(ofAuthor)) return false
  return lists.allow.size === 0 || lists.allow.has(name) || lists.allow.has(ofAuthor)
}
