import { sizeCall } from '../formats/format.ts'
import { FORMATS } from '../formats/formats.ts'
import { parseAnswer, parseJsonBody } from '../json/body.ts'
import { editJson } from '../json/edit.ts'
import type { AttemptFailure } from '../upstreams/attempt.ts'
import type { BufferedResponse } from '../upstreams/buffered-request.ts'
import type { ListedModel } from '../upstreams/listing/listing.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Wire } from '../upstreams/wire.ts'
import { GrowingBytes } from '../vocabulary/growing-bytes.ts'
import { showDollars } from '../vocabulary/money.ts'
import type { Offer } from '../vocabulary/offer.ts'
import { promptTokensOf, type Reported } from '../vocabulary/outcome.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'

/** The result of asking a model for a token. */
export interface SpentToken {
  /** Whether it answered with the cost of the token or a count of it. */
  readonly isOk: boolean
  /** The result, for a person. */
  readonly words: string
}

interface SpendInput {
  readonly models: readonly ListedModel[]
  readonly publicNames: PublicNames
}

const TIMEOUT_MS = 60_000
// The least that OpenAI takes as a cap of responses, and of models that reason.
const REASONING_CAP_TOKENS = 16

const QUESTION = [{ role: 'user', content: 'Hi' }]

/** The smallest body of each format that writes text, the most usual format first. */
const BODIES: readonly (readonly [endpoint: string, bodyOf: (offer: Offer) => object])[] = [
  ['chat', (offer) => ({ messages: QUESTION, ...chatCap(offer) })],
  ['messages', () => ({ messages: QUESTION, max_tokens: 1 })],
  ['responses', () => ({ input: 'Hi', max_output_tokens: REASONING_CAP_TOKENS })],
  ['completions', () => ({ prompt: 'Hi', max_tokens: 1 })],
]

function chatCap({ supportedParameters }: Offer): object {
  return supportedParameters.has('max_tokens')
    ? { max_tokens: 1 }
    : { max_completion_tokens: REASONING_CAP_TOKENS }
}

/**
 * Asks an upstream's cheapest model that has a price for one token, as the gateway asks for a client. Never rejects.
 * By position: the upstream, and its models.
 */
export async function spendToken(upstream: Upstream, input: SpendInput): Promise<SpentToken> {
  const asked = firstAskable(upstream, input)
  if (asked === null) {
    return { isOk: false, words: 'no token was paid for: it offers no model that writes text' }
  }
  const { endpoint, wire, offer } = asked
  const of = `${offer.modelId} (${endpoint})`
  const { httpStatus, bytes, failure } = await send(upstream, asked)
  if (failure !== null) {
    return { isOk: false, words: `${of} did not answer: ${String(failure.cause)}` }
  }
  const answer = parseAnswer(bytes)
  const reading = answer === null ? null : wire.readAnswer(answer)
  if (httpStatus !== 200) return { isOk: false, words: `${of} was refused with ${httpStatus}` }
  if (reading?.kind !== 'success') {
    return { isOk: false, words: `${of} answered 200 with a body that cannot be used` }
  }
  return { isOk: isCharged(reading.reported), words: `${of} ${costWords(reading.reported)}` }
}

function isCharged({ usage, costUsd }: Reported): boolean {
  return usage !== null || costUsd !== null
}

function costWords({ usage, costUsd }: Reported): string {
  if (costUsd !== null) return `answered, at a reported cost of ${showDollars(costUsd)}`
  if (usage === null) return 'answered without counting its tokens: its answers cannot be charged'
  return `answered, and counted ${promptTokensOf(usage)} tokens of input and ${usage.outputTokens} of output`
}

interface Asked {
  readonly endpoint: string
  readonly wire: Wire
  readonly offer: Offer
  /** The body as it goes upstream. */
  readonly body: readonly Buffer[]
}

function firstAskable(upstream: Upstream, { models, publicNames }: SpendInput): Asked | null {
  for (const { offer } of models.toSorted(cheapestFirst)) {
    const endpoints = upstream.endpointsOf(offer, FORMATS)
    for (const [endpoint, bodyOf] of BODIES) {
      const wire = endpoints.includes(endpoint) ? upstream.wires.get(endpoint) : undefined
      const { bodyRules } = upstream
      const body = wire && askable({ wire, offer, endpoint, bodyOf, bodyRules, publicNames })
      if (wire !== undefined && body) return { endpoint, wire, offer, body }
    }
  }
  return null
}

/** By position: two models. Models that cost nothing come last, and models that reason after the others. */
function cheapestFirst({ offer: a }: ListedModel, { offer: b }: ListedModel): number {
  const isFree = ({ prices }: Offer): number => Number(prices.output === 0n)
  const reasons = ({ supportedParameters }: Offer): number =>
    Number(supportedParameters.has('reasoning'))
  return (
    isFree(a) - isFree(b) || reasons(a) - reasons(b) || Number(a.prices.output - b.prices.output)
  )
}

/** The body as it goes upstream; null: the model can't be asked in this format. */
function askable({
  wire,
  offer,
  endpoint,
  bodyOf,
  bodyRules,
  publicNames,
}: Pick<Asked, 'wire' | 'offer' | 'endpoint'> &
  Pick<SpendInput, 'publicNames'> &
  Pick<Upstream, 'bodyRules'> & {
    readonly bodyOf: (offer: Offer) => object
  }): readonly Buffer[] | null {
  const format = FORMATS.find((each) => each.endpoint === endpoint)
  if (format === undefined) return null
  const text = JSON.stringify({ model: offer.modelId, ...bodyOf(offer) })
  const body = parseJsonBody(Buffer.from(text))
  const call = sizeCall(format.readCall(body, publicNames))
  try {
    wire.refuse?.({ call, body, offer, ...bodyRules })
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
  const accountTag = 'upstream-check'
  const given = { call, body, offer, outputCapTokens: null, accountTag, publicNames }
  const edits = wire.rewrites({ ...given, ...bodyRules })
  return editJson(body, edits)
}

function send(
  upstream: Upstream,
  { wire, body }: Asked,
): Promise<BufferedResponse & { readonly failure: AttemptFailure | null }> {
  const { headersTimeoutMs, stallTimeoutMs } = upstream.settings.timeouts
  return new Promise((resolve) => {
    const bytes = new GrowingBytes()
    let httpStatus = 0
    upstream.forward(
      {
        path: wire.path,
        headers: Object.entries(wire.usualHeaders ?? {}).flat(),
        body,
        deadlines: { headersTimeoutMs, stallTimeoutMs, totalTimeoutMs: TIMEOUT_MS },
      },
      {
        onResponseStart(answered) {
          httpStatus = answered
        },
        onResponseData: (chunk) => bytes.add(chunk),
        onResponseEnd: () => resolve({ httpStatus, bytes: bytes.take(), failure: null }),
        onResponseError: (failure) => resolve({ httpStatus, bytes: bytes.take(), failure }),
      },
    )
  })
}
