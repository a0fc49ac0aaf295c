import { badRequest } from '../error-bodies.ts'
import {
  arrayOr,
  isArray,
  isObject,
  type JsonObject,
  type JsonValue,
  objectOr,
  stringOr,
} from '../json-value.ts'
import { promptTokensOf } from '../price.ts'
import { type PromptCount, PromptMeter } from '../prompt-meter.ts'
import type { AnswerInput } from './format.ts'

/** The facts of a text request in any format. */
export interface Ask {
  readonly streamed: boolean
  /** Null where the request sets none. */
  readonly capTokens: number | null
  /** How many answers it wants, each of them billed. */
  readonly choices: number
  readonly prompt: PromptCount
  /** The last thing the user said. */
  readonly question: string
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice
  /** The answer of a tool, if that is the last message. */
  readonly toolResult: string | null
  /** The JSON Schema that the answer must fit. */
  readonly schema: JsonObject | null
  /** How long it may think; 0: not at all. */
  readonly reasoningTokens: number
  readonly wantsImage: boolean
  readonly searches: number
  readonly parsedFiles: number
  /** Whether it runs at the fast tier. */
  readonly isFast: boolean
  /** Tokens that it may think for, within its cap or beyond it; 0: it does not say. */
  readonly budgetTokens: number
  /** Tokens of the answer that it predicts, all of which are rejected. */
  readonly predictionTokens: number
  /** Whether the conversation is summarized before it is answered. */
  readonly compacts: boolean
}

interface Tool {
  readonly name: string
  readonly parameters: JsonValue
}

/** `auto`: the tool that the user names; `required`: the first; otherwise the one of this name. */
type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string }

/** Reads an output cap. Throws Refusal for what is no whole number above 0. */
export function readCap(body: JsonObject, ...names: readonly string[]): number | null {
  let cap: number | null = null
  for (const name of names) {
    const value = body[name]
    if (value === undefined || value === null) continue
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
      throw badRequest(`${name} must be a whole number above 0`)
    }
    cap = Math.max(cap ?? 0, value)
  }
  return cap
}

/** Reads a count, 1 where it is not given. Throws Refusal for what is no whole number from 1 to the most. */
export function readCount(
  body: JsonObject,
  { name, most }: { readonly name: string; readonly most: number },
): number {
  const count = body[name] ?? 1
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > most) {
    throw badRequest(`${name} must be a whole number from 1 to ${most}`)
  }
  return count
}

/** Reads a list of messages. Throws Refusal for one that is malformed. */
export function readMessages(value: JsonValue | undefined): readonly JsonObject[] {
  if (!isArray(value) || value.length === 0) throw badRequest('messages must be a list, not empty')
  return value.map((message, at) => {
    if (!isObject(message) || typeof message['role'] !== 'string') {
      throw badRequest(`messages.${at}: a message has a role`)
    }
    const content = message['content']
    if (typeof content !== 'string' && !isArray(content) && (content ?? null) !== null) {
      throw badRequest(`messages.${at}.content must be a string or a list of parts`)
    }
    return message
  })
}

/** The text of a message's content, its text parts joined. */
export function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content
  return arrayOr(content)
    .map((part) => (isObject(part) ? stringOr(part['text']) : stringOr(part)))
    .join('')
}

/** The last text of the user. */
export function lastUserText(messages: readonly JsonObject[]): string {
  return textOf(messages.findLast((message) => message['role'] === 'user')?.['content'])
}

/** Tools that the client runs, flat or with their fields under `function`. */
function readTools(value: JsonValue | undefined): readonly Tool[] {
  return arrayOr(value).flatMap((item) => {
    const tool = objectOr(item)
    const inner = isObject(tool['function']) ? tool['function'] : tool
    const name = stringOr(inner['name'])
    if (name === '' || isSearchTool(tool)) return []
    return [{ name, parameters: inner['parameters'] ?? inner['input_schema'] ?? {} }]
  })
}

/** Reads `tool_choice` in any format's wording. */
function readToolChoice(value: JsonValue | undefined): ToolChoice {
  const word = isObject(value) ? value['type'] : value
  if (word === 'none') return 'none'
  if (word === 'required' || word === 'any') return 'required'
  const choice = objectOr(value)
  const name = stringOr(objectOr(choice['function'])['name']) || stringOr(choice['name'])
  return name === '' ? 'auto' : { name }
}

/** The JSON Schema of a chat `response_format`, or of any object of that shape. */
export function readSchema(value: JsonValue | undefined): JsonObject | null {
  const format = objectOr(value)
  if (format['type'] === 'json_object') return JSON_OBJECT_SCHEMA
  if (format['type'] !== 'json_schema') return null
  return objectOr(objectOr(format['json_schema'])['schema'] ?? format['schema'])
}

const JSON_OBJECT_SCHEMA: JsonObject = {
  type: 'object',
  properties: { answer: { type: 'string' } },
}

/** How many tokens a request lets the model think for; 0: it does not say. */
function readBudget(body: JsonObject): number {
  const budgets = [
    objectOr(body['reasoning'])['max_tokens'],
    objectOr(body['thinking'])['budget_tokens'],
  ]
  return Math.max(0, ...budgets.map((budget) => (typeof budget === 'number' ? budget : 0)))
}

/** Tokens of the answer that the request predicts; 0: it predicts none. */
function readPrediction(body: JsonObject): number {
  const meter = new PromptMeter()
  meter.content(objectOr(body['prediction'])['content'])
  return body['prediction'] == null ? 0 : meter.tokenCount()
}

/** Whether the request has the conversation summarized before it is answered. */
function readCompacts(body: JsonObject): boolean {
  const management = body['context_management']
  const edits = isArray(management) ? management : arrayOr(objectOr(management)['edits'])
  const items = arrayOr(body['input'])
  return (
    edits.some((edit) => stringOr(objectOr(edit)['type']).startsWith('compact')) ||
    items.some((item) => objectOr(item)['type'] === 'compaction_trigger')
  )
}

const EFFORT_TOKENS: Readonly<Record<string, number>> = { none: 0, minimal: 4, low: 8, medium: 16 }
const REASONING_TOKENS_MAX = 32

/** How many tokens the simulator thinks for, from a `reasoning` object or an effort. */
export function readReasoning(body: JsonObject): number {
  const reasoning = body['reasoning']
  const effort = stringOr(isObject(reasoning) ? reasoning['effort'] : body['reasoning_effort'])
  if (effort !== '') return EFFORT_TOKENS[effort] ?? REASONING_TOKENS_MAX
  if (!isObject(reasoning) || reasoning['enabled'] === false) return 0
  const budget = reasoning['max_tokens']
  if (typeof budget === 'number') return Math.max(0, Math.min(budget, REASONING_TOKENS_MAX))
  return reasoning['enabled'] === true ? REASONING_TOKENS_MAX : 0
}

/** How many searches a request makes the upstream run: one a search tool, or as many as it says. */
function readSearches(body: JsonObject, input: AnswerInput, question: string): number {
  const tool = arrayOr(body['tools']).find((item) => isSearchTool(objectOr(item)))
  const isSearchModel = input.row.supported_parameters.includes('web_search_options')
  if (tool === undefined && !isSearchModel) return 0
  const wanted = Number(/\bsearch (\d{1,3}) times\b/.exec(question)?.[1] ?? 1)
  const limits = [objectOr(tool)['max_uses'], body['max_tool_calls']]
  return Math.min(wanted, 30, ...limits.filter((limit) => typeof limit === 'number'))
}

function isSearchTool(tool: JsonObject): boolean {
  return stringOr(tool['type']).includes('web_search')
}

const FREE_ENGINES = ['cloudflare-ai', 'native']
const PAID_ENGINES = ['mistral-ocr', 'pdf-text']

/** Files that the paid parser reads, because the model can't and no free engine was asked for. */
function readParsedFiles(body: JsonObject, input: AnswerInput, prompt: PromptCount): number {
  if (input.row.architecture.input_modalities.includes('file')) return 0
  const plugin = arrayOr(body['plugins']).find((item) => objectOr(item)['id'] === 'file-parser')
  const engine = objectOr(objectOr(plugin)['pdf'])['engine']
  if (typeof engine !== 'string') return prompt.files
  if (FREE_ENGINES.includes(engine)) return 0
  if (PAID_ENGINES.includes(engine)) return prompt.files
  throw badRequest(`plugins: unknown file-parser engine ${engine}`)
}

/** Tiers at the listed price, or below it. */
const PLAIN_TIERS = ['auto', 'default', 'standard', 'standard_only', 'flex', 'batch']

/** Whether the request asks for the fast tier, by any provider's name for it. */
function readIsFast(body: JsonObject): boolean {
  const tier = body['service_tier'] ?? 'auto'
  return body['speed'] === 'fast' || !PLAIN_TIERS.includes(stringOr(tier))
}

/** Counts a metered prompt. Throws Refusal where it alone is longer than the model's window. */
export function readPrompt(input: AnswerInput, meter: PromptMeter): PromptCount {
  const prompt = meter.count(input.prefixes)
  const windowTokens = input.row.context_length
  const tokens = promptTokensOf(prompt)
  if (windowTokens !== null && tokens > windowTokens) {
    throw badRequest(
      `This endpoint's maximum context length is ${windowTokens} tokens. However, you requested about ${tokens} tokens`,
    )
  }
  return prompt
}

/** Reads the fields that all chat-like formats share. Throws Refusal if the prompt is longer than the window. */
export function readCommon(input: AnswerInput, meter: PromptMeter, question: string) {
  const { body } = input
  const prompt = readPrompt(input, meter)
  return {
    streamed: body['stream'] === true,
    prompt,
    question,
    tools: readTools(body['tools']),
    toolChoice: readToolChoice(body['tool_choice']),
    searches: readSearches(body, input, question),
    parsedFiles: readParsedFiles(body, input, prompt),
    isFast: readIsFast(body),
    budgetTokens: readBudget(body),
    predictionTokens: readPrediction(body),
    compacts: readCompacts(body),
  }
}
