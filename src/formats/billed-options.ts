import { valueSource } from '../json/edit.ts'
import { type JsonBody, type JsonObject, type JsonValue, walkJson } from '../json/walk.ts'
import { type Call, TOOL_STEPS_DEFAULT, type ToolUse } from '../vocabulary/call.ts'
import type { ClientName } from './client-names.ts'
import { field, isObject, readCount, readObject, wrongType } from './fields.ts'

/** Options of a body that make its answer longer, dearer, or several. */

/** The options that every format reads alike. */
type BilledOptions = Pick<Call, 'outputKinds' | 'priorityTier' | 'reasoningTokens' | 'compacts'>

/** Reads them. Throws `invalid_parameter` for one of the wrong type. */
export function readBilledOptions(root: JsonObject): BilledOptions {
  return {
    outputKinds: readOutputKinds(root),
    priorityTier: asksForPriority(root),
    reasoningTokens: readReasoningTokens(root),
    compacts: asksForCompaction(root),
  }
}

/**
 * Which dearer kinds of output `modalities` asks for. Throws `invalid_parameter` for what is no array of
 * strings.
 */
function readOutputKinds(root: JsonObject): Call['outputKinds'] {
  const modalities = field(root, 'modalities') ?? []
  if (!Array.isArray(modalities) || modalities.some((kind) => typeof kind !== 'string')) {
    throw wrongType('modalities', 'an array of strings')
  }
  return { image: modalities.includes('image'), audio: modalities.includes('audio') }
}

/** Tiers that cost the listed price or less. `auto` leaves the choice to the upstream account. */
const ORDINARY_TIERS = new Set<JsonValue>([
  'auto',
  'default',
  'standard',
  'standard_only',
  'flex',
  'batch',
])

/**
 * Whether a request asks for a tier, or an answer names one, that may cost more than the listed price.
 * A tier that is not known may.
 */
export function asksForPriority(root: JsonObject): boolean {
  const tier = field(root, 'service_tier')
  return (tier !== undefined && !ORDINARY_TIERS.has(tier)) || field(root, 'speed') === 'fast'
}

/** The larger budget of those that the formats know; zero where the body names none. */
function readReasoningTokens(root: JsonObject): number {
  return Math.max(
    readBudget(root, ['reasoning', 'max_tokens']),
    readBudget(root, ['thinking', 'budget_tokens']),
  )
}

function readBudget(root: JsonObject, [owner, name]: readonly [ClientName, ClientName]): number {
  const budget = field(readObject(root, owner) ?? {}, name)
  return budget === undefined ? 0 : wholeNumber(budget, `${owner}.${name}`)
}

/**
 * What the client expects as the answer, which is billed as output as far as the answer differs; null:
 * nothing.
 */
export function readPrediction(body: JsonBody): Uint8Array | null {
  if (field(body.root, 'prediction') === undefined) return null
  return valueSource(body, ['prediction']) ?? body.bytes
}

// An item of `input` that has the provider summarize what stands before it.
const COMPACTION_ITEMS = new Set<JsonValue | undefined>([
  'compaction_trigger',
  'context_compaction',
])

/**
 * Whether the provider may summarize the conversation first: messages has edits of `context_management`
 * (`compact_*`; those of `clear_*` only leave something out), responses has entries there, a field and
 * items of its own.
 */
function asksForCompaction(root: JsonObject): boolean {
  if (field(root, 'compaction') !== undefined) return true
  const input = field(root, 'input')
  if (Array.isArray(input) && input.some((item) => isObject(item) && isTrigger(item))) return true
  const management = field(root, 'context_management')
  if (management === undefined) return false
  let compacts = false
  walkJson({ management }, (node) => {
    const { type } = node
    if (typeof type === 'string' && type.startsWith('compact')) compacts = true
  })
  return compacts
}

function isTrigger({ type }: JsonObject): boolean {
  return COMPACTION_ITEMS.has(type)
}

/**
 * How many completions chat and legacy completions make: for each prompt all of `best_of`, of which `n`
 * are returned. Throws `invalid_parameter`.
 */
export function readCompletions(root: JsonObject, prompts: number): number {
  const each = Math.max(readCount(root, 'n') ?? 1, readCount(root, 'best_of') ?? 1)
  return Math.min(prompts * each, Number.MAX_SAFE_INTEGER)
}

/**
 * Steps that provider-run tools may take: 30, or as many as `max_tool_calls` lowers them to. Throws
 * `invalid_parameter` for what is no whole number of zero or more.
 */
export function readSteps(root: JsonObject): ToolUse['steps'] {
  const value = field(root, 'max_tool_calls')
  const callsMax = value === undefined ? TOOL_STEPS_DEFAULT : wholeNumber(value, 'max_tool_calls')
  const stopsOtherwise = field(root, 'stop_server_tools_when') !== undefined
  return stopsOtherwise ? TOOL_STEPS_DEFAULT : Math.min(callsMax, TOOL_STEPS_DEFAULT)
}

// By position: the value, then the field that it is the value of.
function wholeNumber(value: JsonValue, param: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw wrongType(param, 'a whole number of zero or more')
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}
