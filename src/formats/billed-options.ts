import { valueSource } from '../json/edit.ts'
import {
  isJsonObject,
  type JsonBody,
  type JsonObject,
  type JsonValue,
  walkJson,
} from '../json/walk.ts'
import type { Call } from '../vocabulary/call.ts'
import type { ClientName } from './client-names.ts'
import { field, readCount, readObject, wholeNumber, wrongType } from './fields.ts'

/** Options that make an answer longer or dearer; all formats read them alike. */
type BilledOptions = Pick<
  Call,
  'outputKinds' | 'priorityTier' | 'reasoningTokens' | 'thinkingTokens' | 'compacts'
>

/** Reads the billed options. Throws `invalid_parameter` for a wrong type. */
export function readBilledOptions(root: JsonObject): BilledOptions {
  return {
    outputKinds: readOutputKinds(root),
    priorityTier: asksForPriority(root),
    reasoningTokens: readReasoningTokens(root),
    thinkingTokens: readThinkingTokens(root),
    compacts: asksForCompaction(root),
  }
}

/** The dearer kinds of output that `modalities` requests. */
function readOutputKinds(root: JsonObject): Call['outputKinds'] {
  const modalities = field(root, 'modalities') ?? []
  if (!Array.isArray(modalities) || modalities.some((kind) => typeof kind !== 'string')) {
    throw wrongType('modalities', 'an array of strings')
  }
  return { image: modalities.includes('image'), audio: modalities.includes('audio') }
}

/** Tiers at the listed price or below it. `auto` leaves the choice to the upstream account. */
const ORDINARY_TIERS = new Set<JsonValue>([
  'auto',
  'default',
  'standard',
  'standard_only',
  'flex',
  'batch',
])

/** Whether a request or an answer names a tier that may cost more than the listed price, as an unknown one may. */
export function asksForPriority(root: JsonObject): boolean {
  const tier = field(root, 'service_tier')
  return (tier !== undefined && !ORDINARY_TIERS.has(tier)) || field(root, 'speed') === 'fast'
}

/** The larger of the two budgets for reasoning; zero if the body sets none. */
function readReasoningTokens(root: JsonObject): number {
  return Math.max(
    readBudget(root, ['reasoning', 'max_tokens']),
    readBudget(root, ['thinking', 'budget_tokens']),
  )
}

/** The names by which servers of one's own take a budget for thinking. */
const THINKING_BUDGETS = [
  'thinking_budget',
  'thinking_token_budget',
  'thinking_budget_tokens',
  'reasoning_budget_tokens',
] as const satisfies readonly ClientName[]

/** The largest budget for thinking; zero if the body sets none. Values that are no whole number count as none. */
function readThinkingTokens(root: JsonObject): number {
  let tokens = readBudget(root, ['thinking', 'budget_tokens'])
  for (const name of THINKING_BUDGETS) {
    const budget = field(root, name)
    if (Number.isInteger(budget)) tokens = Math.max(tokens, Number(budget))
  }
  return Math.min(tokens, Number.MAX_SAFE_INTEGER)
}

function readBudget(root: JsonObject, [owner, name]: readonly [ClientName, ClientName]): number {
  const budget = field(readObject(root, owner) ?? {}, name)
  return budget === undefined ? 0 : wholeNumber(budget, `${owner}.${name}`)
}

/** The answer that the client predicts, whose unused part is billed as output; null: it predicts none. */
export function readPrediction(body: JsonBody): Uint8Array | null {
  if (field(body.root, 'prediction') === undefined) return null
  return valueSource(body, ['prediction']) ?? body.bytes
}

// Items of `input` that have the provider summarize the items before them.
const COMPACTION_ITEMS = new Set<JsonValue | undefined>([
  'compaction_trigger',
  'context_compaction',
])

/**
 * Whether the provider may summarize the conversation first. Messages has `compact_*` edits in
 * `context_management` (`clear_*` only drops content); responses has entries there, a field and items.
 */
function asksForCompaction(root: JsonObject): boolean {
  if (field(root, 'compaction') !== undefined) return true
  const input = field(root, 'input')
  if (Array.isArray(input) && input.some((item) => isJsonObject(item) && isTrigger(item)))
    return true
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
 * The number of completions of chat and legacy completions: for each prompt all of `best_of`, of which `n` are
 * returned. Throws `invalid_parameter`.
 */
export function readCompletions(root: JsonObject, prompts: number): number {
  const each = Math.max(readCount(root, 'n') ?? 1, readCount(root, 'best_of') ?? 1)
  return Math.min(prompts * each, Number.MAX_SAFE_INTEGER)
}
