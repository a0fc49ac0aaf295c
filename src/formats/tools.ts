import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { TOOL_STEPS_DEFAULT, type ToolUse } from '../vocabulary/call.ts'
import { echoed, type Problem } from '../vocabulary/problem.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import type { ClientName } from './client-names.ts'
import {
  field,
  readObject,
  readObjects,
  toolName,
  unsupported,
  wholeNumber,
  wrongType,
} from './fields.ts'
import { refuseSocialField, refuseSocialSearch } from './refusals.ts'

/** The tokens that an ordinary search puts into the prompt, unless the request asks for larger results. */
const SEARCH_RESULT_TOKENS_DEFAULT = 8_000

/** The tool types that a format accepts. */
export interface ToolStyle {
  /** Whether the client runs tools without a type. */
  readonly untypedIsClientTool: boolean
  /** The types of web searches, besides the upstream's own. */
  readonly searchType: RegExp
}

/** The tools of all formats but messages: their searches are plain or dated. */
export const OPENAI_TOOLS: ToolStyle = {
  untypedIsClientTool: false,
  searchType: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
}

/** The tools of messages, whose dates have no underscores. */
export const MESSAGES_TOOLS: ToolStyle = {
  untypedIsClientTool: true,
  searchType: /^web_search(_\d{8})?$/,
}

interface ToolRules extends ToolStyle {
  /** The prefix of the upstream's own tool types. */
  readonly upstreamToolPrefix: string
}

function rulesOf(style: ToolStyle, { upstream }: PublicNames): ToolRules {
  return { ...style, upstreamToolPrefix: upstream.toolPrefix }
}

function isSearchType(type: string, { searchType, upstreamToolPrefix }: ToolRules): boolean {
  return searchType.test(type) || type === `${upstreamToolPrefix}web_search`
}

/**
 * The tools that a call may use. A search that `tool_choice` names, or that `web_search_options` allow, counts
 * as if `tools` listed it. Throws `unsupported_parameter` for any other tool of the provider, and
 * `invalid_parameter` for a field of the wrong type.
 */
export function readToolUse(root: JsonObject, style: ToolStyle, publicNames: PublicNames): ToolUse {
  const rules = rulesOf(style, publicNames)
  const listed = readTools(root, rules)
  const functions = readObjects(root, 'functions').length
  const searches = [
    ...listed.searchTools,
    ...readSearchOptions(root),
    ...readToolChoice(root, rules),
  ]
  return {
    clientTools: listed.clientTools + functions,
    serverTools: searches.length > 0,
    steps: readSteps(root),
    searchResultTokens: searchResultTokens(searches),
  }
}

const UNSUPPORTED_TOOL = 'The supported tool types are `function`, `custom` and `web_search`.'

function readTools(
  root: JsonObject,
  rules: ToolRules,
): { readonly clientTools: number; readonly searchTools: readonly JsonObject[] } {
  let clientTools = 0
  const searchTools: JsonObject[] = []
  for (const [index, tool] of readObjects(root, 'tools').entries()) {
    const type = tool['type'] ?? undefined
    const place = `tools[${index}]`
    refuseSocialField(tool, () => place)
    if (isClientType(type) || (type === undefined && rules.untypedIsClientTool)) {
      clientTools += 1
    } else if (typeof type === 'string' && isSearchType(type, rules)) {
      refuseSocialSearch(tool, place)
      searchTools.push(tool)
    } else {
      throw unsupported(`${place}.type`, unsupportedTool(tool, place))
    }
  }
  return { clientTools, searchTools }
}

/** Tools that Anthropic's clients run themselves. */
const CLIENTS_OWN = /^(?:bash|text_editor|computer|memory)_\d/

/** The refusal of a tool, which names it among the many that an agent sends, and its replacement. */
function unsupportedTool(tool: JsonObject, place: string): string {
  const { type } = tool
  const shown = typeof type === 'string' ? echoed(type) : null
  const ofType = shown === null ? 'has no type' : `has the type \`${shown}\``
  const name = toolName(tool)
  const named = name === null ? '' : ` (\`${name}\`)`
  const advice =
    shown !== null && CLIENTS_OWN.test(shown)
      ? ' Tools of the vendor that the client runs itself are not supported: define a tool of your own, with a `name` and an `input_schema`, and run that.'
      : ''
  return `\`${place}\`${named} ${ofType}. ${UNSUPPORTED_TOOL}${advice}`
}

function isClientType(type: JsonValue | undefined): boolean {
  return type === 'function' || type === 'custom'
}

/** `web_search_options`, if they are set: they let the provider search unasked. */
function readSearchOptions(root: JsonObject): readonly JsonObject[] {
  const searchOptions = readObject(root, 'web_search_options')
  if (searchOptions === undefined) return []
  refuseSocialSearch(searchOptions, 'web_search_options')
  return [searchOptions]
}

/**
 * The most steps of provider-run tools: 30, or the client's `max_tool_calls` if that is lower. Throws
 * `invalid_parameter` for any value but a whole number of zero or more.
 */
export function readSteps(root: JsonObject): ToolUse['steps'] {
  const value = field(root, 'max_tool_calls')
  const callsMax = value === undefined ? TOOL_STEPS_DEFAULT : wholeNumber(value, 'max_tool_calls')
  const stopsOtherwise = field(root, 'stop_server_tools_when') !== undefined
  return stopsOtherwise ? TOOL_STEPS_DEFAULT : Math.min(callsMax, TOOL_STEPS_DEFAULT)
}

/** A search among the tools of a body. */
export interface SearchTool {
  readonly index: number
  readonly type: string
  readonly tool: JsonObject
}

/** The searches among the tools of a body of messages. */
export function searchToolsOf(root: JsonObject, publicNames: PublicNames): readonly SearchTool[] {
  const rules = rulesOf(MESSAGES_TOOLS, publicNames)
  return readObjects(root, 'tools').flatMap((tool, index) => {
    const { type } = tool
    return typeof type === 'string' && isSearchType(type, rules) ? [{ index, type, tool }] : []
  })
}

/** Values of `tool_choice`, and of its `type`, that name no tool. */
const MODES = new Set(['auto', 'none', 'required', 'any', 'tool', 'allowed_tools'])

/**
 * The provider's searches that `tool_choice` names: by their own type or name, or in its list of allowed tools.
 * A name that one of the client's own tools has is that tool's.
 */
function readToolChoice(root: JsonObject, rules: ToolRules): readonly JsonObject[] {
  const choice = field(root, 'tool_choice')
  if (choice === undefined) return []
  const clientNames = clientToolNames(root)
  if (typeof choice === 'string') {
    if (MODES.has(choice) || clientNames.has(choice)) return []
    return [searchNamed(choice, { rules, param: 'tool_choice' })]
  }
  if (!isJsonObject(choice)) throw wrongType('tool_choice', 'a string or an object')
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
  const tools = isJsonObject(owner) ? (field(owner, 'tools') ?? []) : []
  if (!Array.isArray(tools)) throw wrongType(`${param}.tools`, 'an array of objects')
  const elements: readonly JsonValue[] = tools
  return elements.map((tool, index) => {
    const place = `${param}.tools[${index}]`
    if (!isJsonObject(tool)) throw wrongType(place, 'an object')
    return { tool, param: place }
  })
}

/** The searches that one object names: by its type, or by a name in it. */
function searchesNamedBy(
  { tool, param }: NamedTool,
  { rules, clientNames }: { readonly rules: ToolRules; readonly clientNames: ReadonlySet<string> },
): readonly JsonObject[] {
  const type = field(tool, 'type')
  if (typeof type === 'string' && isSearchType(type, rules)) return [tool]
  const isMode = typeof type === 'string' && MODES.has(type)
  if (type !== undefined && !isClientType(type) && !isMode) {
    throw notOffered(`${param}.type`)
  }
  return namesOf(tool).flatMap(({ name, member }) => {
    if (!isProviderName(name, rules) || clientNames.has(name)) return []
    return [searchNamed(name, { rules, param: `${param}.${member}` })]
  })
}

/** Throws `unsupported_parameter` unless the name is that of a search. */
function searchNamed(
  name: string,
  { rules, param }: { readonly rules: ToolRules; readonly param: string },
): JsonObject {
  if (isSearchName(name, rules)) return { type: name }
  throw notOffered(param)
}

function notOffered(param: string): Problem {
  return unsupported(param, `\`${param}\` names another tool. ${UNSUPPORTED_TOOL}`)
}

/** Names that a provider takes for its own tools. Any other name must be listed, or the provider refuses it. */
function isProviderName(name: string, rules: ToolRules): boolean {
  const isUpstreams = name.startsWith(rules.upstreamToolPrefix)
  return isSearchName(name, rules) || name === 'x_search' || isUpstreams
}

function isSearchName(name: string, rules: ToolRules): boolean {
  return name === 'web_search' || isSearchType(name, rules)
}

/** The names of the tools that the client runs. */
function clientToolNames(root: JsonObject): ReadonlySet<string> {
  const tools = [...readObjects(root, 'tools'), ...readObjects(root, 'functions')].filter(
    (tool) => {
      const type = field(tool, 'type')
      return type === undefined || isClientType(type)
    },
  )
  return new Set(tools.flatMap(namesOf).map(({ name }) => name))
}

/** The names of a tool: its own, and that of the function or custom tool inside it. */
function namesOf(tool: JsonObject): readonly { readonly name: string; readonly member: string }[] {
  const inside = (['function', 'custom'] as const).map(
    (kind) => [`${kind}.name`, field(tool, kind)] as const,
  )
  const owners = [['name', tool] as const, ...inside]
  return owners.flatMap(([member, owner]) => {
    const name = isJsonObject(owner) ? field(owner, 'name') : undefined
    return typeof name === 'string' ? [{ name, member }] : []
  })
}

// The upstream's own bounds and defaults of these settings.
const RESULTS_DEFAULT = 5
const RESULTS_MAX = 25
const CHARACTERS_DEFAULT = 4_000
const CHARACTERS_MAX = 100_000
const CHARACTERS_BY_SIZE = new Map([
  ['low', 5_000],
  ['medium', 15_000],
  ['high', 30_000],
])

/** Below the four or so of English pages. */
const CHARACTERS_PER_TOKEN = 3

/**
 * The most tokens that one search adds to the prompt, by the settings of these tools and options, which may also
 * be in `parameters`. A setting of an unknown form counts as the largest.
 */
export function searchResultTokens(searches: readonly JsonObject[]): number {
  let most = SEARCH_RESULT_TOKENS_DEFAULT
  for (const search of searches) {
    const parameters = field(search, 'parameters')
    most = Math.max(most, tokensOf(search), isJsonObject(parameters) ? tokensOf(parameters) : 0)
  }
  return most
}

function tokensOf(settings: JsonObject): number {
  const results = settingOf(settings, {
    name: 'max_results',
    absent: RESULTS_DEFAULT,
    most: RESULTS_MAX,
  })
  const characters = settingOf(settings, {
    name: 'max_characters',
    absent: charactersBySize(field(settings, 'search_context_size')),
    most: CHARACTERS_MAX,
  })
  return Math.ceil((results * characters) / CHARACTERS_PER_TOKEN)
}

function settingOf(
  settings: JsonObject,
  {
    name,
    absent,
    most,
  }: { readonly name: ClientName; readonly absent: number; readonly most: number },
): number {
  const value = field(settings, name)
  if (value === undefined) return absent
  return typeof value === 'number' && value >= 0 ? Math.min(value, most) : most
}

function charactersBySize(size: unknown): number {
  if (size === undefined) return CHARACTERS_DEFAULT
  return (typeof size === 'string' ? CHARACTERS_BY_SIZE.get(size) : undefined) ?? CHARACTERS_MAX
}
