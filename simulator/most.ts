import { type AnswerInput, type Bill, billOf } from './formats/format.ts'
import type { Ask } from './formats/text-request.ts'
import { arrayOr, type JsonObject, objectOr, stringOr } from './json-value.ts'
import { type Counts, NO_COUNTS, promptTokensOf } from './price.ts'
import { FILE_TOKENS, IMAGE_TOKENS } from './prompt-meter.ts'

/** The most that a provider may bill for a request, by the documentation of each of its options. */

/** The size of an unknown window. */
const WINDOW_TOKENS = 1_000_000

/** An image whose bytes were sent, however large. */
const INLINE_IMAGE_TOKENS = 2_000

/** The tokens of an image that comes with an answer, in addition to the cap. */
const IMAGE_OUTPUT_TOKENS = 8_192

/** The most expensive search engine that a request may choose. */
const SEARCH_USD = 0.03

const STEPS_MAX = 30

/** Searches that an answer makes in a row, each of which reads the results of all before it. */
const SEARCHES_IN_A_ROW = 7

/** A summary of the conversation, under however short a cap. */
const SUMMARY_TOKENS = 8_192

/** The most expensive of all ways in which the request may be run. */
export function mostBill(ask: Ask, input: AnswerInput): Bill {
  const bills: Bill[] = []
  for (const isFast of ask.isFast ? [true, false] : [false]) {
    for (const searches of searchCounts(input)) {
      for (const cache of cacheClasses(ask, input)) {
        for (const output of outputs(ask, input)) {
          bills.push(billOfRun({ ask, input, isFast, searches, cache, output }))
        }
      }
    }
  }
  return bills.reduce((most, bill) => (bill.cost.totalUsd > most.cost.totalUsd ? bill : most))
}

type CacheClass = 'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'cacheWriteLongTokens'

interface Run {
  readonly ask: Ask
  readonly input: AnswerInput
  readonly isFast: boolean
  readonly searches: number
  readonly cache: CacheClass
  readonly output: Partial<Counts>
}

/** Every reading of the prompt, and the answer with the last of them. */
function billOfRun(run: Run): Bill {
  const { ask, input, isFast, searches, cache, output } = run
  const promptTokens = promptMost(ask, input)
  const windowTokens = input.row.context_length ?? WINDOW_TOKENS
  const resultTokens = searchResultTokens(input.body)
  const bills: Bill[] = []
  const read = (tokens: number, counts: Partial<Counts>): void => {
    const { inputImages } = ask.prompt
    const prompt = searches > 0 ? { [cache]: tokens } : promptCounts(run, tokens)
    const { parsedFiles } = ask
    const whole = { ...NO_COUNTS, inputImages, parsedFiles, ...prompt, ...counts }
    bills.push(billOf(input, { isFast, counts: whole }))
  }
  if (ask.compacts) read(promptTokens, { outputTokens: summaryMost(ask, input) })
  for (let step = 0; step <= searches; step++) {
    const results = (searches <= SEARCHES_IN_A_ROW ? step : Math.min(step, 1)) * resultTokens
    const tokens = Math.max(promptTokens, Math.min(windowTokens, promptTokens + results))
    read(tokens, step === searches ? output : {})
  }
  return withSearches(sumOf(bills), { searches, input, isFast })
}

/** A prompt that no search adds to. A vendor that writes by marks alone writes no text after the last of them. */
function promptCounts({ ask, input, cache }: Run, tokens: number): Partial<Counts> {
  const { prompt } = ask
  const isWrite = cache === 'cacheWriteTokens' || cache === 'cacheWriteLongTokens'
  const hasMedia = prompt.unsizedMedia + prompt.inputImages + prompt.files > 0
  const byMarks = input.fault.bills === 'mostByMarks' && !ask.compacts && !hasMedia
  const writesUnasked = input.row.pricing.input_cache_write_1h === undefined
  if (!isWrite || !byMarks || writesUnasked || prompt.cacheMark === null) return { [cache]: tokens }
  const marked = prompt.cacheReadTokens + prompt.cacheWriteTokens + prompt.cacheWriteLongTokens
  const written = Math.min(tokens, marked)
  return { [cache]: written, inputTokens: tokens - written }
}

function sumOf(bills: readonly Bill[]): Bill {
  const counts: Record<keyof Counts, number> = { ...NO_COUNTS }
  const countNames = Object.keys(counts) as (keyof Counts)[]
  const cost = { totalUsd: 0, promptUsd: 0, completionUsd: 0 }
  for (const bill of bills) {
    for (const name of countNames) counts[name] += bill.counts[name]
    cost.totalUsd += bill.cost.totalUsd
    cost.promptUsd += bill.cost.promptUsd
    cost.completionUsd += bill.cost.completionUsd
  }
  return { counts, cost }
}

function withSearches(
  { counts, cost }: Bill,
  run: { readonly searches: number; readonly input: AnswerInput; readonly isFast: boolean },
): Bill {
  const { searches, input, isFast } = run
  const row = isFast && input.fastRow !== null ? input.fastRow : input.row
  const feeUsd = Math.max(SEARCH_USD, Number(row.pricing.web_search ?? 0))
  return {
    counts: { ...counts, searches },
    cost: { ...cost, totalUsd: cost.totalUsd + searches * feeUsd },
  }
}

/** One reading of the prompt. Media whose size the request does not show may fill the window. */
function promptMost({ prompt }: Ask, { row, body }: AnswerInput): number {
  const windowTokens = row.context_length
  // The conversation before an earlier message may fill the window.
  if (body['thread'] !== undefined) return windowTokens ?? WINDOW_TOKENS
  const text =
    promptTokensOf(prompt) - prompt.inputImages * IMAGE_TOKENS - prompt.files * FILE_TOKENS
  if (prompt.unsizedMedia > 0) return windowTokens ?? WINDOW_TOKENS
  const images = prompt.inputImages * INLINE_IMAGE_TOKENS
  return Math.min(Math.max(0, text) + images, windowTokens ?? Number.MAX_SAFE_INTEGER)
}

/** The tokens that the whole prompt may be billed as. Models with one price for all writes may write unasked. */
function cacheClasses({ prompt }: Ask, { row, body }: AnswerInput): readonly CacheClass[] {
  const classes: CacheClass[] = ['inputTokens', 'cacheReadTokens']
  const { input_cache_write: write, input_cache_write_1h: writeLong } = row.pricing
  const writesUnasked = write !== undefined && writeLong === undefined
  // An option that is null is not set.
  const hasOptions = Object.keys(body).some(
    (name) => name.startsWith('prompt_cache_') && body[name] !== null,
  )
  if (prompt.cacheMark !== null || hasOptions || writesUnasked) classes.push('cacheWriteTokens')
  if (prompt.cacheMark === 'long' || hasOptions) classes.push('cacheWriteLongTokens')
  return classes
}

/** How long one answer may get. */
function answerMost(ask: Ask, { path, row, body }: AnswerInput): number {
  const listed = row.top_provider.max_completion_tokens
  const windowTokens = Math.max(row.context_length ?? Number.MAX_SAFE_INTEGER, listed ?? 0)
  const isBare = path === '/chat/completions' || path === '/completions'
  const ignoresCaps =
    isBare &&
    !row.supported_parameters.includes('max_tokens') &&
    !row.supported_parameters.includes('max_completion_tokens')
  const uncapped = listed ?? row.context_length ?? WINDOW_TOKENS
  const cap = lengthOutranking(body) ?? ask.capTokens ?? uncapped
  const answer = Math.min(ignoresCaps ? Math.max(cap, uncapped) : cap, windowTokens)
  return Math.max(answer + besideMost(path, body), Math.min(ask.budgetTokens, windowTokens))
}

/** llama.cpp's, SGLang's and Ollama's own names of the length, which outrank the format's cap. */
function lengthOutranking(body: JsonObject): number | null {
  const lengths = ['n_predict', 'max_new_tokens', 'num_predict'].map((name) => body[name])
  return lengths.find((length) => typeof length === 'number') ?? null
}

const BUDGETS_BESIDE = [
  'thinking_budget',
  'thinking_token_budget',
  'thinking_budget_tokens',
  'reasoning_budget_tokens',
]

/** Thoughts that self-hosted servers count in addition to the cap. In messages they are within it. */
function besideMost(path: string, body: JsonObject): number {
  if (path === '/messages') return 0
  const budgets = [
    ...BUDGETS_BESIDE.map((name) => body[name]),
    objectOr(body['thinking'])['budget_tokens'],
  ]
  return Math.max(0, ...budgets.filter((budget) => typeof budget === 'number'))
}

function summaryMost(ask: Ask, input: AnswerInput): number {
  const listed = input.row.top_provider.max_completion_tokens ?? SUMMARY_TOKENS
  return Math.max(answerMost(ask, input), Math.min(SUMMARY_TOKENS, listed))
}

/** All answers as text, as thoughts, and with images in them or beside them. */
function outputs(ask: Ask, input: AnswerInput): readonly Partial<Counts>[] {
  const answers = answerMost(ask, input) * ask.choices
  const rejectedTokens = ask.predictionTokens * ask.choices
  const outputTokens = answers + rejectedTokens
  const base = { outputTokens, rejectedTokens }
  const withoutImages = [base, { ...base, reasoningTokens: answers }]
  const { output_modalities: modalities } = input.row.architecture
  if (!modalities.includes('image')) return withoutImages
  const besideTokens = IMAGE_OUTPUT_TOKENS * ask.choices
  return [
    ...withoutImages,
    { ...base, imageOutputTokens: answers, outputImages: ask.choices },
    {
      ...base,
      outputTokens: outputTokens + besideTokens,
      imageOutputTokens: besideTokens,
      outputImages: ask.choices,
    },
  ]
}

/** None, as many as results are read again by all that follow, and as many as the request allows. */
function searchCounts(input: AnswerInput): readonly number[] {
  const most = searchesMost(input)
  return [...new Set([0, Math.min(most, SEARCHES_IN_A_ROW), most])]
}

function searchesMost({ path, body }: AnswerInput): number {
  const tools = searchTools(body)
  if (path === '/messages') {
    return tools.reduce((sum, tool) => sum + usesMost(tool), 0)
  }
  const mayChoose = (body['web_search_options'] ?? null) !== null
  if (tools.length === 0 && !mayChoose) return 0
  if ((body['stop_server_tools_when'] ?? null) !== null) return STEPS_MAX
  const calls = body['max_tool_calls']
  return typeof calls === 'number' ? Math.min(calls, STEPS_MAX) : STEPS_MAX
}

function searchTools(body: JsonObject): readonly JsonObject[] {
  return arrayOr(body['tools'])
    .map(objectOr)
    .filter((tool) => stringOr(tool['type']).includes('web_search'))
}

// Only the tool's own setting bounds it.
function usesMost(tool: JsonObject): number {
  const uses = tool['max_uses'] ?? objectOr(tool['parameters'])['max_uses']
  return typeof uses === 'number' ? uses : 4 * STEPS_MAX
}

const RESULTS = 5
const RESULT_CHARACTERS = 4_000
const CHARACTERS_PER_TOKEN = 4

/** The tokens that one search adds to the prompt of the next step. */
function searchResultTokens(body: JsonObject): number {
  const options = objectOr(body['web_search_options'])
  const settings = [
    options,
    ...searchTools(body).flatMap((tool) => [tool, objectOr(tool['parameters'])]),
  ]
  const sizes = settings.map((setting) => {
    const { max_results: results, max_characters: characters } = setting
    const count = typeof results === 'number' ? results : RESULTS
    const length = typeof characters === 'number' ? characters : RESULT_CHARACTERS
    return Math.ceil((count * length) / CHARACTERS_PER_TOKEN)
  })
  return Math.max(...sizes)
}
