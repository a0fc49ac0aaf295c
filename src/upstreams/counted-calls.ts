import { field, unsupported } from '../formats/fields.ts'
import type { JsonEdit } from '../json/edit.ts'
import { isJsonObject, type JsonObject } from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import { answerTokensMax, type Offer } from '../vocabulary/offer.ts'
import { invalidParameter } from '../vocabulary/problem.ts'
import { type FieldTable, requireListed } from './fields.ts'
import { userEdit } from './openrouter/rewrites.ts'
import type { RefusalInput, RewriteInput, Wire } from './wire.ts'

/* The edits and refusals of calls to providers that bill by their counts. */

/** The usage of a stream, which such a provider sends only where it is asked for. */
export function usageEdits(call: Call, root: JsonObject): readonly JsonEdit[] {
  if (!call.stream || call.asksForUsage === true) return []
  return isJsonObject(root['stream_options'])
    ? [{ kind: 'set', path: ['stream_options', 'include_usage'], json: 'true' }]
    : [{ kind: 'set', path: ['stream_options'], json: '{"include_usage":true}' }]
}

/** The fields that the gateway sets itself, unless the server refuses them: the account's tag, and usage in streams. */
export function ownFieldEdits(input: RewriteInput): readonly JsonEdit[] {
  const { call, body, accountTag, leavesOut } = input
  const removed = [...leavesOut].filter((name) => name in body.root)
  return [
    ...removed.map((name) => ({ kind: 'remove', path: [name] }) as const),
    ...(leavesOut.has('user') ? [] : [userEdit(accountTag)]),
    ...(leavesOut.has('stream_options') ? [] : usageEdits(call, body.root)),
  ]
}

/**
 * `store: false` where the client left `store` out: otherwise the provider keeps the answer, and the gateway promises
 * that none is kept.
 */
export function unstoredEdits(root: JsonObject): readonly JsonEdit[] {
  if (field(root, 'store') !== undefined) return []
  return [{ kind: 'set', path: ['store'], json: 'false' }]
}

/**
 * The held output cap in this field, if one must be sent. Such a provider refuses a cap that does not fit into the
 * window in addition to the prompt, so it is lowered to the room that the prompt leaves.
 */
export function capEditIn(
  name: string,
  { call, offer, outputCapTokens }: Pick<RewriteInput, 'call' | 'offer' | 'outputCapTokens'>,
): readonly JsonEdit[] {
  if (outputCapTokens === null) return []
  const capTokens = Math.min(outputCapTokens, answerRoomTokens(call, offer))
  return [{ kind: 'set', path: [name], json: String(capTokens) }]
}

// The tokens of a chat template, and of a picture as most models count it.
const TEMPLATE_TOKENS = 512
const PICTURE_TOKENS = 2_048
// The estimate of a prompt may be far above its tokens: at a full window, an answer of this length is still tried.
const ROOM_TOKENS_MIN = 1_024

function answerRoomTokens({ textTokens, media }: Call, { contextTokens }: Offer): number {
  if (contextTokens === null) return Number.MAX_SAFE_INTEGER
  const pictures = media.imagesInline + media.imagesByUrl
  const promptTokens = textTokens + TEMPLATE_TOKENS + pictures * PICTURE_TOKENS
  return Math.max(contextTokens - promptTokens, ROOM_TOKENS_MIN)
}

/**
 * Sends the longest answer that the hold covers as the cap of responses, if the client set none: without a cap, the
 * provider may write more.
 */
export function heldCapEdits({
  call,
  offer,
}: Pick<RewriteInput, 'call' | 'offer'>): readonly JsonEdit[] {
  const outputCapTokens = call.outputCapTokens === null ? offer.outputTokensMax : null
  return capEditIn('max_output_tokens', { call, offer, outputCapTokens })
}

type CapName = 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'

const CHAT_CAPS: readonly CapName[] = ['max_tokens', 'max_completion_tokens']

/**
 * The cap of chat, held or the client's own, in the field that the model takes: servers that know one of its two names
 * ignore the other, and would write as long an answer as they like.
 */
export function chatCapEdits(input: RewriteInput): readonly JsonEdit[] {
  const { call, offer, body } = input
  const taken = CHAT_CAPS.filter((name) => offer.supportedParameters.has(name))
  const given = CHAT_CAPS.filter((name) => field(body.root, name) !== undefined)
  const [own] = taken
  if (own === undefined || given.some((name) => taken.includes(name)))
    return withinHeld(given, input)
  if (given.length === 0 || call.outputCapTokens === null) return capEditIn(own, input)
  const json = String(Math.min(call.outputCapTokens, heldAnswerTokens(offer)))
  return [
    { kind: 'set', path: [own], json },
    ...given.map((name) => ({ kind: 'set', path: [name], json: 'null' }) as const),
  ]
}

/**
 * The client's caps, lowered to the window that the hold covers: a server that shifts its window can write beyond it.
 */
export function withinHeld(
  names: readonly CapName[],
  { body, offer }: Pick<RewriteInput, 'body' | 'offer'>,
): readonly JsonEdit[] {
  const heldTokens = heldAnswerTokens(offer)
  return names
    .filter((name) => Number(field(body.root, name) ?? 0) > heldTokens)
    .map((name) => ({ kind: 'set', path: [name], json: String(heldTokens) }))
}

function heldAnswerTokens(offer: Offer): number {
  return answerTokensMax(offer) ?? Number.MAX_SAFE_INTEGER
}

/** A tag of the account, by which the server keeps its cached prompts apart from those of other accounts. */
export function saltEdits({ saltsCache, accountTag }: RewriteInput): readonly JsonEdit[] {
  return saltsCache ? [{ kind: 'set', path: ['cache_salt'], json: JSON.stringify(accountTag) }] : []
}

/** Throws for a field that the table of the format does not let pass. */
export function refuseUnlistedFields({ body, vouched }: RefusalInput, table: FieldTable): void {
  requireListed(body.root, { table, vouched })
}

/**
 * Throws for a cap of messages above the longest answer of the model, up to which they are held: the provider may
 * know a longer one, as a beta header of Anthropic's allows it, or write beyond its window.
 */
export function refuseCapAbove({ call, offer }: RefusalInput): void {
  const longestTokens = offer.outputTokensMax ?? offer.contextTokens
  if (longestTokens === null || (call.outputCapTokens ?? 0) <= longestTokens) return
  throw invalidParameter(
    'max_tokens',
    `\`max_tokens\` is above the longest answer of this model: set it to ${longestTokens} or less.`,
  )
}

// Beside the tools themselves.
const UNCOUNTED_TOOLS = ['web_search_options', 'container'] as const

/**
 * Throws for calls whose cost such a provider does not count, or counts at prices that are not listed: tools that it
 * runs, tiers, other outputs than text.
 */
export function refuseUncounted(input: RefusalInput): void {
  if (input.call.tools.serverTools) {
    const { root } = input.body
    const param = UNCOUNTED_TOOLS.find((name) => field(root, name) !== undefined) ?? 'tools'
    const advice =
      param === 'tools' ? 'Leave the search tool out of `tools`.' : `Leave \`${param}\` out.`
    throw unsupported(
      param,
      `This model runs no tools of the provider, such as web search: their cost is not counted in its answers. ${advice}`,
    )
  }
  refuseTiers(input)
  refuseUnlistedOutputs(input)
}

/** The fields of a format, and its refusals. By position: the fields, and a further refusal. */
export function onlyCounted(
  fields: FieldTable,
  refuseMore: NonNullable<Wire['refuse']> = () => {},
): Pick<Wire, 'fields' | 'refuse'> {
  return {
    fields,
    refuse(input) {
      refuseUncounted(input)
      refuseUnlistedFields(input, fields)
      refuseMore(input)
    },
  }
}

/** Throws for a tier whose price is not listed, whether it costs more or less. */
export function refuseTiers({ call, body, offer }: RefusalInput): void {
  const isUnpriced = call.priorityTier && offer.fastPrices === null
  if (!isUnpriced && !CHEAPER_TIERS.has(body.root['service_tier'])) return
  const param = field(body.root, 'service_tier') === undefined ? 'speed' : 'service_tier'
  throw unsupported(
    param,
    `This model has one price, and no price for tiers. Leave \`${param}\` out.`,
  )
}

const CHEAPER_TIERS = new Set<unknown>(['flex', 'batch'])

/** Throws for outputs that the model does not list. */
export function refuseUnlistedOutputs({ call, offer }: RefusalInput): void {
  const unlisted = (['image', 'audio'] as const).find(
    (kind) => call.outputKinds[kind] && !offer.outputModalities.has(kind),
  )
  if (unlisted === undefined) return
  const message = `This model does not write ${unlisted}. Leave \`${unlisted}\` out of \`modalities\`.`
  throw unsupported('modalities', message)
}
