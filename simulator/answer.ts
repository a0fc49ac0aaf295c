import type { Act } from './faults.ts'
import { type AnswerInput, type Bill, billOf, type Pace, type Reply } from './formats/format.ts'
import type { Ask } from './formats/text-request.ts'
import { instanceOf, isObject, parseObject } from './json-value.ts'
import { mostBill } from './most.ts'
import type { Counts } from './price.ts'

/** The text of an answer, in pieces of one token each. */
export interface Answer {
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  /** A tool that it calls instead of talking. */
  readonly call: ToolCall | null
  /** Tokens of the picture that it draws; 0: none. */
  readonly imageTokens: number
  /** Whether the cap cut it short. */
  readonly isCut: boolean
  /** The tokens of all choices. */
  readonly outputTokens: number
  /** Milliseconds between events; null: as fast as they are taken. */
  readonly intervalMs: number | null
}

interface ToolCall {
  readonly name: string
  readonly argumentPieces: readonly string[]
}

const PIECE = /\s*\S{1,7}|\s+$/g
const ASKED_LENGTH = /\b(\d{1,6}) (?:words|tokens)\b/
const ECHO_CHARS_MAX = 200
const IMAGE_TOKENS = 1290
/** The tokens of a summary of the conversation. */
const SUMMARY_TOKENS = 64
const PACED_EVENTS_MAX = 1_000_000
const EXPLANATION = piecesOf(
  ' This answer comes from the simulator, which runs no model and bills no real money.',
)
const FILLER = piecesOf(' The quick brown fox jumps over the lazy dog, and then does it once more.')
const THOUGHTS = piecesOf('The user wants an answer, so I repeat what was asked and say who I am. ')

/** Cuts text into pieces of one token each. */
function piecesOf(text: string): readonly string[] {
  return text.match(PIECE) ?? []
}

/** A request, its answer, and their cost. */
export interface Answered {
  readonly ask: Ask
  readonly answer: Answer
  readonly input: AnswerInput
  /** The cost of the whole answer. */
  readonly bill: Bill
}

/** Answers a request: the same for the same request. */
export function answerTo(ask: Ask, input: AnswerInput): Answered {
  const answer = composeAnswer(ask, input)
  const bill =
    input.fault.bills !== undefined
      ? mostBill(ask, input)
      : billOf(input, {
          counts: countsAt({ ask, answer }, answer.outputTokens),
          isFast: ask.isFast,
        })
  return { ask, answer, input, bill }
}

/** The reason for the end of an answer, in the words of chat, completions and look-ups. */
export function finishReason({ isCut, call }: Answer): 'stop' | 'length' | 'tool_calls' {
  if (isCut) return 'length'
  return call === null ? 'stop' : 'tool_calls'
}

/** The reply of a format that answers in text. */
export function textReply(
  answered: Answered,
  format: Pick<Reply, 'finishReason' | 'whole' | 'frames' | 'errorFrame'>,
): Reply {
  const { ask, answer, input, bill } = answered
  return {
    ...format,
    streamed: ask.streamed,
    apiType: 'completions',
    intervalMs: answer.intervalMs,
    outputTokens: answer.outputTokens,
    billAt(outputTokens) {
      if (outputTokens >= answer.outputTokens) return bill
      const counts = countsAt({ ask, answer }, outputTokens)
      return billOf(input, { counts, isFast: ask.isFast })
    },
  }
}

function composeAnswer(ask: Ask, input: AnswerInput): Answer {
  const { row, fault } = input
  const pace = input.traits.paced ? paceOf(ask.question, input.pace) : null
  // A cap above the listed maximum is answered in full, where the request needs as much.
  const budget = ask.capTokens ?? row.top_provider.max_completion_tokens ?? Number.POSITIVE_INFINITY
  const wholeReasoning = repeated(THOUGHTS, ask.reasoningTokens)
  const reasoning = wholeReasoning.slice(0, Math.max(budget, ask.budgetTokens))
  let left = Math.max(0, budget - reasoning.length)
  const call = callFor(ask, fault.act)
  const wholeText = call === null ? textFor(ask, { pace, act: fault.act }) : []
  const wholeArguments = call?.argumentPieces ?? []
  const text = wholeText.slice(0, left)
  // The name of a called tool is a token, too.
  const argumentPieces = wholeArguments.slice(0, Math.max(0, left - 1))
  const isCalled = call !== null && left > 0
  left -= text.length + (isCalled ? argumentPieces.length + 1 : 0)
  const imageTokens = ask.wantsImage ? Math.min(IMAGE_TOKENS, left) : 0
  const choiceTokens =
    reasoning.length + text.length + (isCalled ? argumentPieces.length + 1 : 0) + imageTokens
  const isCut =
    reasoning.length < wholeReasoning.length ||
    text.length < wholeText.length ||
    (call !== null && argumentPieces.length < wholeArguments.length)
  return {
    reasoning,
    text,
    call: isCalled ? { name: call.name, argumentPieces } : null,
    imageTokens,
    isCut,
    outputTokens: choiceTokens * ask.choices,
    intervalMs: pace?.intervalMs ?? null,
  }
}

/** The counts after so many of an answer's output tokens. */
function countsAt(
  { ask, answer }: { readonly ask: Ask; readonly answer: Answer },
  outputTokens: number,
): Counts {
  const isWhole = outputTokens >= answer.outputTokens
  const reads = ask.compacts ? 2 : 1
  const rejectedTokens = ask.predictionTokens * ask.choices
  const besideTokens = rejectedTokens + (ask.compacts ? SUMMARY_TOKENS : 0)
  return {
    inputTokens: ask.prompt.inputTokens * reads,
    cacheReadTokens: ask.prompt.cacheReadTokens * reads,
    cacheWriteTokens: ask.prompt.cacheWriteTokens * reads,
    cacheWriteLongTokens: ask.prompt.cacheWriteLongTokens * reads,
    outputTokens: outputTokens + (isWhole ? besideTokens : 0),
    rejectedTokens: isWhole ? rejectedTokens : 0,
    reasoningTokens: Math.min(outputTokens, answer.reasoning.length * ask.choices),
    imageOutputTokens: isWhole ? answer.imageTokens * ask.choices : 0,
    inputImages: ask.prompt.inputImages,
    outputImages: isWhole && answer.imageTokens > 0 ? ask.choices : 0,
    searches: ask.searches,
    parsedFiles: ask.parsedFiles,
  }
}

/** Reads `{"events":100,"interval_ms":50}` from a paced model's prompt. */
function paceOf(question: string, fallback: Pace): Pace {
  const asked = question.includes('{') ? parseObject(question) : null
  const events = asked?.['events']
  const interval = asked?.['interval_ms']
  return {
    events: typeof events === 'number' ? Math.min(events, PACED_EVENTS_MAX) : fallback.events,
    intervalMs: typeof interval === 'number' ? interval : fallback.intervalMs,
  }
}

function textFor(
  ask: Ask,
  { pace, act }: { readonly pace: Pace | null; readonly act: Act | undefined },
): readonly string[] {
  if (act !== undefined && 'say' in act) return piecesOf(act.say)
  if (pace !== null) return new Array<string>(pace.events).fill(' tick')
  if (ask.schema !== null) {
    return piecesOf(JSON.stringify(instanceOf(ask.schema, echoOf(ask.question))))
  }
  if (ask.toolResult !== null) return piecesOf(`The tool answered: ${echoOf(ask.toolResult)}`)
  const echo = piecesOf(`You said: "${echoOf(ask.question)}".`)
  const asked = ASKED_LENGTH.exec(ask.question)
  if (asked === null) return [...echo, ...EXPLANATION]
  return [...echo, ...repeated(FILLER, Number(asked[1]))].slice(0, Number(asked[1]))
}

function callFor(ask: Ask, act: Act | undefined): ToolCall | null {
  if (act !== undefined) {
    if ('say' in act) return null
    return { name: act.call, argumentPieces: piecesOf(JSON.stringify(act.arguments)) }
  }
  const choice = ask.toolChoice
  if (ask.toolResult !== null || choice === 'none') return null
  const tool = ask.tools.find((candidate, at) => {
    if (choice === 'required') return at === 0
    return choice === 'auto'
      ? ask.question.includes(candidate.name)
      : candidate.name === choice.name
  })
  if (tool === undefined) return null
  const filled = instanceOf(tool.parameters, echoOf(ask.question))
  const argumentsText = JSON.stringify(isObject(filled) ? filled : {})
  return { name: tool.name, argumentPieces: piecesOf(argumentsText) }
}

function echoOf(text: string): string {
  return text.length > ECHO_CHARS_MAX ? `${text.slice(0, ECHO_CHARS_MAX)}...` : text
}

function repeated(pieces: readonly string[], length: number): readonly string[] {
  if (length === 0) return []
  return Array.from({ length }, (_, at) => pieces[at % pieces.length] ?? '')
}
