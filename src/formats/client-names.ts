import { isJsonObject, type JsonObject, type JsonValue, jsonPathText } from '../json/walk.ts'
import { invalidParameter } from '../vocabulary/problem.ts'

/** The place of a name: at the top level of the body, or in any of its objects. */
type Scope = 'root' | 'any'

/**
 * Every member name that is read from a client's body, and where. `field` accepts no other name, and a test
 * compares this table with the names that the formats read.
 */
const CLIENT_NAMES = {
  model: 'root',
  models: 'root',
  fallbacks: 'root',
  route: 'root',
  provider: 'root',
  preset: 'root',
  mcp_servers: 'root',
  debug: 'root',
  messages: 'root',
  system: 'root',
  instructions: 'root',
  prompt: 'root',
  plugins: 'root',
  functions: 'root',
  tool_choice: 'root',
  web_search_options: 'root',
  max_tool_calls: 'root',
  stop_server_tools_when: 'root',
  container: 'root',
  service_tier: 'root',
  speed: 'root',
  reasoning: 'root',
  thinking: 'root',
  thinking_budget: 'root',
  thinking_token_budget: 'root',
  thinking_budget_tokens: 'root',
  reasoning_budget_tokens: 'root',
  prediction: 'root',
  context_management: 'root',
  compaction: 'root',
  modalities: 'root',
  stream: 'root',
  stream_options: 'root',
  max_completion_tokens: 'root',
  max_output_tokens: 'root',
  n: 'root',
  best_of: 'root',
  image: 'root',
  images: 'root',
  mask: 'root',
  input_references: 'root',
  store: 'root',
  background: 'root',
  previous_response_id: 'root',
  conversation: 'root',
  user: 'root',

  max_tokens: 'any',
  budget_tokens: 'any',
  include_usage: 'any',
  id: 'any',
  enabled: 'any',
  pdf: 'any',
  engine: 'any',
  tools: 'any',
  allowed_tools: 'any',
  type: 'any',
  name: 'any',
  role: 'any',
  function: 'any',
  custom: 'any',
  parameters: 'any',
  input: 'any',
  x_search: 'any',
  x_search_filter: 'any',
  max_uses: 'any',
  max_results: 'any',
  max_characters: 'any',
  search_context_size: 'any',
  cache_control: 'any',
  prompt_cache_breakpoint: 'any',
  content: 'any',
  source: 'any',
  result: 'any',
  url: 'any',
  data: 'any',
  media_type: 'any',
  mime_type: 'any',
  file: 'any',
  file_id: 'any',
  file_url: 'any',
  file_data: 'any',
  image_url: 'any',
  video_url: 'any',
  audio: 'any',
  input_audio: 'any',
  input_file: 'any',
  input_video: 'any',
} as const satisfies Readonly<Record<string, Scope>>

/** A member name that is read from a client's body. */
export type ClientName = keyof typeof CLIENT_NAMES

/** The place of each name. */
export const NAME_SCOPES: ReadonlyMap<string, Scope> = new Map(Object.entries(CLIENT_NAMES))

// Folding shortens a name only by the dots of `İ`, each after a letter.
const LOOKALIKE_CHARS_MAX = 2 * Math.max(...[...NAME_SCOPES.keys()].map((name) => name.length))

/**
 * Throws `invalid_parameter` for a member whose name differs from one of these only in case. A provider that
 * ignores case would read it, and could run another model, or more, than was checked and held. The definitions of
 * the client's own tools are not checked.
 */
export function refuseLookalikes(root: JsonObject): void {
  if (!hasLookalike(root)) return
  const found = findLookalike(root)
  if (found === null) return
  const { param, name } = found
  throw invalidParameter(
    param,
    `\`${param}\` differs from \`${name}\` only in case: write the name in lower case.`,
  )
}

type Container = JsonObject | readonly JsonValue[]

/** The fast check that nearly every body passes: it keeps no path and folds hardly any name. */
function hasLookalike(root: JsonObject): boolean {
  const pending: Container[] = []
  const hasOne = (node: JsonObject, scope: Scope): boolean => {
    for (const memberName in node) {
      if (!isLowerCase(memberName) && nameLike(memberName, scope) !== null) return true
      const value = node[memberName]
      if (typeof value === 'object' && value !== null && isReadBelow(node, { memberName, scope })) {
        pending.push(value)
      }
    }
    return false
  }
  if (hasOne(root, 'root')) return true
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isJsonObject(node)) {
      if (hasOne(node, 'any')) return true
      continue
    }
    for (let i = 0; i < node.length; i++) {
      const value = node[i]
      if (typeof value !== 'object' || value === null) continue
      // Objects in arrays are the most common: they are checked at once.
      if (!isJsonObject(value)) pending.push(value)
      else if (hasOne(value, 'any')) return true
    }
  }
  return false
}

/** A container and its path. */
interface Place {
  readonly container: Container
  readonly parent: Place | null
  readonly segment: string | number
}

/** The first lookalike of a body that has one. */
function findLookalike(root: JsonObject): { readonly param: string; readonly name: string } | null {
  const pending: Place[] = [{ container: root, parent: null, segment: '' }]
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    const scope = place.parent === null ? 'root' : 'any'
    const { container } = place
    const within: Place[] = []
    const enter = (segment: string | number, value: JsonValue | undefined): void => {
      if (typeof value !== 'object' || value === null) return
      within.push({ container: value, parent: place, segment })
    }
    if (isJsonObject(container)) {
      for (const memberName in container) {
        const name = nameLike(memberName, scope)
        if (name !== null) return { param: paramOf(place, memberName), name }
        if (isReadBelow(container, { memberName, scope })) enter(memberName, container[memberName])
      }
    } else {
      for (let i = 0; i < container.length; i++) enter(i, container[i])
    }
    for (let last = within.pop(); last !== undefined; last = within.pop()) pending.push(last)
  }
  return null
}

// The name may be quoted: it is short, and known except for its case.
function paramOf(place: Place, memberName: string): string {
  const segments: (string | number)[] = []
  for (let at: Place | null = place; at !== null && at.parent !== null; at = at.parent) {
    segments.push(at.segment)
  }
  const owner = jsonPathText(segments.reverse())
  return owner === '' ? memberName : `${owner}.${memberName}`
}

/** The known name that differs from this one only in case; null if there is none. */
function nameLike(memberName: string, scope: Scope): string | null {
  if (memberName.length > LOOKALIKE_CHARS_MAX) return null
  const name = foldCase(memberName)
  const readIn = NAME_SCOPES.get(name)
  return name !== memberName && (readIn === 'any' || readIn === scope) ? name : null
}

/** A name without case: by Unicode's full folding, and by the Turkish one, in which `İ` and `ı` are `i` too. */
function foldCase(memberName: string): string {
  return memberName.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
}

/** Whether a name has only ASCII characters and no capitals, so that it is no lookalike. */
function isLowerCase(memberName: string): boolean {
  for (let at = 0; at < memberName.length; at++) {
    const code = memberName.charCodeAt(at)
    if (code >= 0x80 || (code >= 0x41 && code <= 0x5a)) return false
  }
  return true
}

/**
 * Whether names are read below a member: not in the arguments of a tool call or in a schema. But the `parameters`
 * of a search are read by the provider, and the `input` of the body is the conversation.
 */
function isReadBelow(
  owner: JsonObject,
  { memberName, scope }: { readonly memberName: string; readonly scope: Scope },
): boolean {
  switch (memberName) {
    case 'arguments':
    case 'input_schema':
    case 'input_examples':
    case 'metadata':
    case 'schema':
    case 'properties':
    case '$defs':
    case 'definitions':
      return false
    case 'input':
      return scope === 'root'
    case 'action':
      return !/_call$/.test(typeOf(owner))
    case 'parameters':
      return /web_search/.test(typeOf(owner))
    default:
      return true
  }
}

function typeOf(owner: JsonObject): string {
  return typeof owner['type'] === 'string' ? owner['type'] : ''
}
