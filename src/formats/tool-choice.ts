import type { JsonObject, JsonValue } from '../json/walk.ts'
import { field, isObject, readObjects, wrongType } from './fields.ts'
import { refuseSocialSearch, UNSUPPORTED_TOOL, unsupported } from './refusals.ts'
import { isSearchType, type ToolRules } from './search-tools.ts'

/** Values of `tool_choice`, and of its `type`, that name no tool. */
const MODES = new Set(['auto', 'none', 'required', 'any', 'tool', 'allowed_tools'])

/**
 * The provider's searches that `tool_choice` names, by its own type or name or in its list of allowed
 * tools. They count as if `tools` listed them, which the provider may not ask for. A name that one of the
 * client's own tools has is that tool's. Throws `unsupported_parameter` for any other tool of the
 * provider, and `invalid_parameter` for a choice of the wrong type.
 */
export function readToolChoice(root: JsonObject, rules: ToolRules): readonly JsonObject[] {
  const choice = field(root, 'tool_choice')
  if (choice === undefined) return []
  const clientNames = clientToolNames(root)
  if (typeof choice === 'string') {
    if (MODES.has(choice) || clientNames.has(choice)) return []
    return namedTool(choice, { rules, param: 'tool_choice' })
  }
  if (!isObject(choice)) throw wrongType('tool_choice', 'a string or an object')
  refuseSocialSearch(choice, 'tool_choice')
  const places = [
    { tool: choice, param: 'tool_choice' },
    ...toolsIn(choice, 'tool_choice'),
    ...toolsIn(field(choice, 'allowed_tools'), 'tool_choice.allowed_tools'),
  ]
  return places.flatMap((place) => searchesNamedBy(place, { rules, clientNames }))
}

interface NamedTool {
  readonly tool: JsonObject
  readonly param: string
}

function toolsIn(owner: JsonValue | undefined, param: string): readonly NamedTool[] {
  const tools = isObject(owner) ? (field(owner, 'tools') ?? []) : []
  if (!Array.isArray(tools)) throw wrongType(`${param}.tools`, 'an array of objects')
  const elements: readonly JsonValue[] = tools
  return elements.map((tool, index) => {
    const place = `${param}.tools[${index}]`
    if (!isObject(tool)) throw wrongType(place, 'an object')
    return { tool, param: place }
  })
}

/** What one object names: a tool by its type, or a tool by its name. */
function searchesNamedBy(
  { tool, param }: NamedTool,
  { rules, clientNames }: { readonly rules: ToolRules; readonly clientNames: ReadonlySet<string> },
): readonly JsonObject[] {
  const type = field(tool, 'type')
  if (typeof type === 'string' && isSearchType(type, rules)) return [tool]
  if (type !== undefined && type !== 'function' && type !== 'custom') {
    if (typeof type !== 'string' || !MODES.has(type)) {
      throw unsupported(`${param}.type`, UNSUPPORTED_TOOL)
    }
  }
  return namesOf(tool).flatMap(({ name, member }) => {
    if (!isProviderName(name, rules) || clientNames.has(name)) return []
    return namedTool(name, { rules, param: `${param}.${member}` })
  })
}

function namedTool(
  name: string,
  { rules, param }: { readonly rules: ToolRules; readonly param: string },
): readonly JsonObject[] {
  if (isSearchName(name, rules)) return [{ type: name }]
  throw unsupported(param, UNSUPPORTED_TOOL)
}

/** Names that a provider takes for a tool of its own. Any other must be listed, or the provider refuses it. */
function isProviderName(name: string, rules: ToolRules): boolean {
  const isUpstreams = name.startsWith(rules.upstreamToolPrefix)
  return isSearchName(name, rules) || name === 'x_search' || isUpstreams
}

function isSearchName(name: string, rules: ToolRules): boolean {
  return name === 'web_search' || isSearchType(name, rules)
}

/** The names of the tools that the client runs. */
function clientToolNames(root: JsonObject): ReadonlySet<string> {
  const names = new Set<string>()
  for (const tool of [...readObjects(root, 'tools'), ...readObjects(root, 'functions')]) {
    const type = field(tool, 'type')
    if (type !== undefined && type !== 'function' && type !== 'custom') continue
    for (const { name } of namesOf(tool)) names.add(name)
  }
  return names
}

/** The names of a tool: its own, and that of the function or custom tool inside it. */
function namesOf(tool: JsonObject): readonly { readonly name: string; readonly member: string }[] {
  const inside = (['function', 'custom'] as const).map(
    (kind) => [`${kind}.name`, field(tool, kind)] as const,
  )
  const owners = [['name', tool] as const, ...inside]
  return owners.flatMap(([member, owner]) => {
    const name = isObject(owner) ? field(owner, 'name') : undefined
    return typeof name === 'string' ? [{ name, member }] : []
  })
}
