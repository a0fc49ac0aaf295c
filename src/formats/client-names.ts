import { isJsonObject, type JsonObject, type JsonValue, jsonPathText } from '../json/walk.ts'
import { Problem } from '../vocabulary/problem.ts'

/** Where a name is read: in the body itself, or in any object of it. */
type Scope = 'root' | 'any'

/**
 * Every member name that is read from a client's body, and where. `field` takes no other name, and a test
 * runs every format and compares what it reads with this.
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

/** Where each name is read. */
export const NAME_SCOPES: ReadonlyMap<string, Scope> = new Map(Object.entries(CLIENT_NAMES))

// Folding makes no name shorter but by the dots of `İ`, each beside a letter.
const LOOKALIKE_CHARS_MAX = 2 * Math.max(...[...NAME_SCOPES.keys()].map((name) => name.length))

/**
 * Throws `invalid_parameter` for a member whose name is one that is read, but for case: a provider that
 * does not mind case would take it for that name, and so could run another model, or more, than what was
 * refused, rewritten and held. What the client's own tools define is left alone.
 */
export function refuseLookalikes(root: JsonObject): void {
  if (!hasLookalike(root)) return
  const found = findLookalike(root)
  if (found === null) return
  const { param, name } = found
  throw new Problem('invalid_parameter', {
    param,
    message: `\`${param}\` differs from \`${name}\` only in case: write the name in lower case.`,
  })
}

type Container = JsonObject | readonly JsonValue[]

/** Nearly every body is done with here: no path is kept, and hardly any name is folded. */
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
      // An object in an array, the commonest of all, never has to wait its turn.
      if (!isJsonObject(value)) pending.push(value)
      else if (hasOne(value, 'any')) return true
    }
  }
  return false
}

/** A container, and the way to it. */
interface Place {
  readonly container: Container
  readonly parent: Place | null
  readonly segment: string | number
}

/** The first lookalike of the body, which has one. */
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

// The name itself stands as it was sent: it is short, and known but for its case.
function paramOf(place: Place, memberName: string): string {
  const segments: (string | number)[] = []
  for (let at: Place | null = place; at !== null && at.parent !== null; at = at.parent) {
    segments.push(at.segment)
  }
  const owner = jsonPathText(segments.reverse())
  return owner === '' ? memberName : `${owner}.${memberName}`
}

/** The name that this one is but for case; null where it is none, or exactly one. */
function nameLike(memberName: string, scope: Scope): string | null {
  if (memberName.length > LOOKALIKE_CHARS_MAX) return null
  const name = foldCase(memberName)
  const readIn = NAME_SCOPES.get(name)
  return name !== memberName && (readIn === 'any' || readIn === scope) ? name : null
}

/**
 * A name as a reader takes it that does not mind case: by Unicode's full folding, and by the Turkish one,
 * whose letters `İ` and `ı` are `i` too.
 */
function foldCase(memberName: string): string {
  return memberName.toLowerCase().toUpperCase().toLowerCase().replaceAll('i\u0307', 'i')
}

/** Whether a name has neither capitals nor anything beyond ASCII, so that it is no other name's lookalike. */
function isLowerCase(memberName: string): boolean {
  for (let at = 0; at < memberName.length; at++) {
    const code = memberName.charCodeAt(at)
    if (code >= 0x80 || (code >= 0x41 && code <= 0x5a)) return false
  }
  return true
}

/**
 * Whether anything is read below a member: not in what a tool call was given or a schema says. The
 * `parameters` of a search are the provider's own, and the `input` of the body is the conversation.
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
