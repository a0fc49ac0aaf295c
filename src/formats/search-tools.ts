import type { JsonObject } from '../json/walk.ts'
import type { PublicNames } from '../vocabulary/public-names.ts'
import { readObjects } from './fields.ts'

/** Which tool types a format takes. */
export interface ToolStyle {
  /** Whether a tool without a type is one that the client runs. */
  readonly untypedIsClientTool: boolean
  /** The types of web searches, beside the upstream's own. */
  readonly searchType: RegExp
}

/** The tools of all formats but messages: their searches are plain or dated. */
export const OPENAI_TOOLS: ToolStyle = {
  untypedIsClientTool: false,
  searchType: /^web_search(_preview)?(_\d{4}_\d{2}_\d{2})?$/,
}

/** The tools of messages, whose searches are always dated. */
export const MESSAGES_TOOLS: ToolStyle = {
  untypedIsClientTool: true,
  searchType: /^web_search_\d{8}$/,
}

/** Which tool types a call may have: those of its format, and the upstream's own search. */
export interface ToolRules extends ToolStyle {
  readonly upstreamToolPrefix: string
}

/** The rules of a format's calls. */
export function toolRules(style: ToolStyle, { upstream }: PublicNames): ToolRules {
  return { ...style, upstreamToolPrefix: upstream.toolPrefix }
}

/** Whether a tool's type is that of a web search. */
export function isSearchType(type: string, { searchType, upstreamToolPrefix }: ToolRules): boolean {
  return searchType.test(type) || type === `${upstreamToolPrefix}web_search`
}

/** A search among the tools of a body. */
export interface SearchTool {
  readonly index: number
  readonly type: string
  readonly tool: JsonObject
}

/** The searches among the tools of a body. */
export function searchToolsOf(root: JsonObject, rules: ToolRules): readonly SearchTool[] {
  const found: SearchTool[] = []
  for (const [index, tool] of readObjects(root, 'tools').entries()) {
    const { type } = tool
    if (typeof type === 'string' && isSearchType(type, rules)) found.push({ index, type, tool })
  }
  return found
}
