import type { JsonEdit } from '../json/edit.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { echoed } from '../vocabulary/problem.ts'

/** The facts of a forwarded request that can explain its refusal. Kept while the call lasts: it is small. */
export interface SentFacts {
  /** The fields of the client's own body. */
  readonly fields: readonly string[]
  /** The names of its tools, by their place; null: a tool has none that can be shown. */
  readonly tools: readonly (string | null)[]
  /** The output cap that the gateway set, in a field that the client did not set; null: it set none. */
  readonly ownCap: OwnCap | null
}

interface OwnCap {
  readonly param: string
  readonly tokens: number
}

/** The facts of a call that was not sent. */
export const NOTHING_SENT: SentFacts = { fields: [], tools: [], ownCap: null }

/** The fields of output caps. */
export const CAP_PARAMETERS: readonly string[] = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]

const FIELDS_MAX = 64
const TOOLS_MAX = 512

/** The facts that can explain a refusal. By position: the client's body, and the replacements in it. */
export function sentFacts(root: JsonObject, edits: readonly JsonEdit[]): SentFacts {
  const tools: JsonValue = root['tools'] ?? []
  return {
    fields: Object.keys(root).slice(0, FIELDS_MAX),
    tools: isArray(tools) ? tools.slice(0, TOOLS_MAX).map(toolName) : [],
    ownCap: capIn(edits, root),
  }
}

/** The name of a tool, as it may be shown; null: it has none. */
export function toolName(tool: JsonValue): string | null {
  if (!isJsonObject(tool)) return null
  for (const owner of [tool, tool['function'], tool['custom']]) {
    const name = isJsonObject(owner) ? owner['name'] : undefined
    if (typeof name === 'string') return echoed(name)
  }
  return null
}

function capIn(edits: readonly JsonEdit[], root: JsonObject): OwnCap | null {
  for (const edit of edits) {
    if (edit.kind !== 'set') continue
    const [param, ...deeper] = edit.path
    if (typeof param !== 'string' || deeper.length > 0 || !CAP_PARAMETERS.includes(param)) continue
    if ((root[param] ?? null) !== null) continue
    return { param, tokens: Number(edit.json) }
  }
  return null
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
