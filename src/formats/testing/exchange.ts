import { parseJsonBody } from '../../json/body.ts'
import type { JsonBody } from '../../json/walk.ts'
import type { Call } from '../../vocabulary/call.ts'
import type { Offer, PriceTable } from '../../vocabulary/offer.ts'
import { Problem } from '../../vocabulary/problem.ts'
import {
  DEFAULT_PUBLIC_NAMES as DOCUMENTED_NAMES,
  type PublicNames,
} from '../../vocabulary/public-names.ts'
import { type StreamEvent, sizeCall, type WireFormat } from '../format.ts'
import { FORMATS } from '../formats.ts'
import { checkOffer } from '../refusals.ts'

/** The names of the interface's own documentation, before OpenRouter. */
export const DEFAULT_PUBLIC_NAMES: PublicNames = {
  ...DOCUMENTED_NAMES,
  upstream: { fileEngine: 'cloudflare-ai', toolPrefix: 'openrouter:' },
}

/** A client's body, as source text or as a value. */
export type BodySource = string | { readonly [member: string]: unknown }

/** A client's body, parsed as the journey parses it. */
export function bodyOf(source: BodySource): JsonBody {
  return parseJsonBody(Buffer.from(typeof source === 'string' ? source : JSON.stringify(source)))
}

/** The call that a format reads from a body. */
export function callOf(format: WireFormat, source: BodySource): Call {
  return sizeCall(format.readCall(bodyOf(source), DEFAULT_PUBLIC_NAMES))
}

/** Code and field of the Problem that this throws; the test fails if it throws none. */
export function refusalOf(run: () => unknown): { code: string; param: string | null } {
  try {
    run()
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, param: error.param }
    throw error
  }
  throw new Error('nothing was refused')
}

/** The prices of a model that costs nothing. */
export const FREE: PriceTable = {
  input: 0n,
  output: 0n,
  cacheRead: 0n,
  cacheWrite: 0n,
  cacheWriteLong: 0n,
  reasoning: 0n,
  imageOutput: 0n,
  audioOutput: 0n,
  imageInput: 0n,
  imageInputToken: 0n,
  audioInput: 0n,
  search: 0n,
  request: 0n,
  imageFlat: 0n,
  tiers: [],
}

/** A text model that lists its cap as `max_tokens` and reads no files. */
export function offerWith(overrides: Partial<Offer> = {}): Offer {
  const { outputModalities = new Set(['text']) } = overrides
  return {
    modelId: 'acme/sage-pro',
    upstreamModelId: overrides.modelId ?? 'acme/sage-pro',
    authoredId: overrides.modelId ?? 'acme/sage-pro',
    endpoints: FORMATS.filter((format) => format.fitsOutputs(outputModalities)).map(
      ({ endpoint }) => endpoint,
    ),
    inputModalities: new Set(['text']),
    outputModalities,
    supportedParameters: new Set(['max_tokens']),
    contextTokens: 100_000,
    outputTokensMax: 4_096,
    openWeights: false,
    billsPerSearch: false,
    upstream: 'openrouter',
    prices: FREE,
    fastPrices: null,
    priceSnapshotId: 'prices',
    feeBasisPoints: 500,
    ...overrides,
  }
}

/** One event with this data, given as text and converted to latin-1, as the relay reads it. */
export function eventOf(data: string, name: string | null = null): StreamEvent {
  return { name, data: Buffer.from(data, 'utf8').toString('latin1') }
}

/** The smallest body of each endpoint, for tests on all of them. */
export const LEAST_BODIES: Readonly<Record<string, { readonly [member: string]: unknown }>> = {
  chat: { model: 'acme/sage-pro', messages: [] },
  completions: { model: 'acme/sage-pro', prompt: 'x' },
  messages: { model: 'acme/sage-pro', messages: [], max_tokens: 64 },
  responses: { model: 'acme/sage-pro', input: 'x' },
  embeddings: { model: 'acme/sage-pro', input: 'x' },
  images: { model: 'acme/sage-pro', prompt: 'x' },
}

/** Checks a call against an offer with these changes, of a provider that parses files. */
export function checkCall(format: WireFormat, call: Call, changes: Partial<Offer> = {}): void {
  checkOffer(call, {
    format,
    formats: FORMATS,
    offer: offerWith(changes),
    parsesFiles: true,
    publicNames: DEFAULT_PUBLIC_NAMES,
  })
}
