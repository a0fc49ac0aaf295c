import { type CatalogRow, traitsOf } from '../../simulator/catalog.ts'
import { Refusal } from '../../simulator/error-bodies.ts'
import type { Fault } from '../../simulator/faults.ts'
import { FORMATS_BY_PATH } from '../../simulator/formats/formats.ts'
import { type JsonObject, parseObject } from '../../simulator/json-value.ts'
import { PrefixMemory } from '../../simulator/prompt-meter.ts'
import { VENDORS, vendorText } from '../../simulator/vendors.ts'
import { sizeCall, type WireFormat } from '../../src/formats/format.ts'
import { FORMATS } from '../../src/formats/formats.ts'
import { checkOffer } from '../../src/formats/refusals.ts'
import { DEFAULT_PUBLIC_NAMES } from '../../src/formats/testing/exchange.ts'
import { capForGrant, sizeHold } from '../../src/journey/hold-size/hold.ts'
import { resolveOutcome } from '../../src/journey/settle/resolve.ts'
import { parseAnswer, parseJsonBody } from '../../src/json/body.ts'
import { editJson, type JsonEdit } from '../../src/json/edit.ts'
import { NO_RULES } from '../../src/upstreams/testing/upstream-settings.ts'
import type { Wire } from '../../src/upstreams/wire.ts'
import type { Call } from '../../src/vocabulary/call.ts'
import { type Micros, micros } from '../../src/vocabulary/money.ts'
import { type Offer, offerAtFee } from '../../src/vocabulary/offer.ts'
import { Problem } from '../../src/vocabulary/problem.ts'
import { type HoldWorld, NOW_MS, OPENROUTER } from './hold-worlds.ts'
import type { RandomBody } from './random-bodies.ts'

/** A fault of ours, planted to see that it is found. */
export interface Plant {
  /** The hold that replaces the computed one. */
  readonly call?: (call: Call, offer: Offer) => Partial<Call>
  readonly offer?: (offer: Offer) => Partial<Offer>
  /** Whether a rewrite is made. */
  readonly rewrites?: (edit: JsonEdit) => boolean
  /** Fields that the dialect does not refuse. */
  readonly unread?: Readonly<Record<string, unknown>>
}

/** Holds a mark of an hour as one of five minutes. */
export function onlyShort({ cacheWrites }: Call): Partial<Call> {
  return { cacheWrites: cacheWrites === 'long' ? 'short' : cacheWrites }
}

/** The fate of a body: refused by the gateway or the provider, or run and charged. */
export interface Charged {
  /** Null: it was refused before. */
  readonly heldMicros: Micros | null
  /** Null: nothing was charged. */
  readonly chargeMicros: Micros | null
}

interface ChargeInput {
  readonly request: RandomBody
  /** How much of what may be lowered is granted, from 0 to 1. */
  readonly grantedShare: number
  /** Whether the provider reports the cost, or only the tokens. */
  readonly reportsCost: boolean
  /** The platform fee, in hundredths of a percent. Default 5%. */
  readonly feeBasisPoints?: number
  readonly plant?: Plant
  /** Default: OpenRouter. */
  readonly world?: HoldWorld
  /** The cache of a provider that bills by its counts. Default: it bills the most that the body allows. */
  readonly prefixes?: PrefixMemory
}

const GENERATION_ID = 'gen-1790000000-0123456789abcdefghij'

/**
 * Sizes the hold of a body, sends the body as the gateway sends it to a provider that bills the most
 * that such a body allows, and settles what the provider answers: each step by the gateway's own parts.
 */
export function chargeMost(input: ChargeInput): Charged {
  const held = orNull(() => hold(input))
  if (held === null) return { heldMicros: null, chargeMicros: null }
  const { heldMicros } = held
  return { heldMicros, chargeMicros: orNull(() => charge(held, input)) }
}

/** Null where the gateway or the provider refuses it. */
function orNull<T>(run: () => T): T | null {
  try {
    return run()
  } catch (error) {
    if (error instanceof Problem || error instanceof Refusal) return null
    throw error
  }
}

interface Held {
  readonly heldMicros: Micros
  readonly format: WireFormat
  readonly wire: Wire
  readonly call: Call
  readonly offer: Offer
  /** The body as it goes upstream. */
  readonly sent: string
}

function hold({
  request,
  grantedShare,
  feeBasisPoints = 500,
  plant = {},
  world = OPENROUTER,
}: ChargeInput): Held {
  const format = FORMATS.find(({ endpoint }) => endpoint === request.endpoint)
  const wire = world.wires.get(request.endpoint)
  if (format === undefined || wire === undefined) throw new TypeError(`no ${request.endpoint}`)
  const { unread } = plant
  const body = parseJsonBody(Buffer.from(JSON.stringify({ ...request.body, ...unread })))
  const call = sizeCall(format.readCall(body, DEFAULT_PUBLIC_NAMES))
  const offer = offerAtFee(world.catalog.offerFor(call.modelName, format.endpoint), feeBasisPoints)
  checkOffer(call, {
    format,
    formats: FORMATS,
    offer,
    parsesFiles: world.vendor === null,
    publicNames: DEFAULT_PUBLIC_NAMES,
  })
  if (unread === undefined) wire.refuse?.({ call, body, offer, ...NO_RULES })

  const size = sizeHold(
    { ...call, ...plant.call?.(call, offer) },
    { ...offer, ...plant.offer?.(offer) },
  )
  const lowerable = size.neededMicros - size.leastMicros
  const heldMicros = micros(size.leastMicros + Math.floor(lowerable * grantedShare))
  const edits = wire
    .rewrites({
      call,
      body,
      offer,
      outputCapTokens: capForGrant(size, heldMicros),
      accountTag: 'tag_1',
      publicNames: DEFAULT_PUBLIC_NAMES,
      ...NO_RULES,
    })
    .filter((edit) => plant.rewrites?.(edit) ?? true)
  const sent = Buffer.concat(editJson(body, edits)).toString()

  return { heldMicros, format, wire, call, offer, sent }
}

function charge(held: Held, input: ChargeInput): Micros | null {
  const { heldMicros, wire, call, offer } = held
  const answer = parseAnswer(Buffer.from(answerOf(held, input)))
  if (answer === null) throw new TypeError('the provider answered no JSON')
  const resolution = resolveOutcome({
    outcome: { kind: 'completed', reported: wire.readAnswer(answer).reported },
    call,
    offer,
    tokenFactor: 1,
    grantedMicros: heldMicros,
    hasLookUps: (input.world ?? OPENROUTER).hasLookUps,
  })
  const isCharged = resolution.kind === 'final' || resolution.kind === 'provisional'
  return isCharged ? resolution.chargeMicros : null
}

/** The provider's whole answer. Throws Refusal. */
function answerOf(
  { wire: { path }, sent }: Held,
  { reportsCost, prefixes, world: { provider, vendor, bills } = OPENROUTER }: ChargeInput,
): string {
  const format = FORMATS_BY_PATH.get(path)
  const written = parseObject(sent)
  const row = provider.find(String(written?.['model']))
  if (format === undefined || written === null || row === null) throw new TypeError('unknown to it')
  const body = vendor === VENDORS['openai-compatible'] ? heard(written, row) : written
  vendor?.checkBody(path, body, row)
  const fault: Fault = {
    ...(prefixes === undefined ? { bills } : {}),
    ...(reportsCost ? {} : { omit: ['cost'] }),
  }
  const text = format
    .answer({
      path,
      body,
      row,
      fastRow: provider.fastTierOf(row),
      traits: traitsOf(row.id),
      fault,
      generationId: GENERATION_ID,
      nowMs: NOW_MS,
      prefixes: prefixes ?? new PrefixMemory(),
      pace: { events: 1, intervalMs: 0 },
    })
    .whole()
  return vendor === null ? text : (vendorText(vendor, text, body) ?? text)
}

const CAPS = ['max_tokens', 'max_completion_tokens']

/** The body as a server of one's own understands it: it knows the names of the cap that its model lists. */
function heard(body: JsonObject, { supported_parameters: known }: CatalogRow): JsonObject {
  const isHeard = ([name]: readonly [string, unknown]) =>
    !CAPS.includes(name) || known.includes(name)
  return Object.fromEntries(Object.entries(body).filter(isHeard))
}
