import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { sizeCall } from '../../src/formats/format.ts'
import { FORMATS } from '../../src/formats/formats.ts'
import { DEFAULT_PUBLIC_NAMES } from '../../src/formats/testing/exchange.ts'
import { sizeHold } from '../../src/journey/hold-size/hold.ts'
import { costOfUsage } from '../../src/journey/settle/usage-charge.ts'
import { parseJsonBody } from '../../src/json/body.ts'
import { chargeForCost } from '../../src/vocabulary/money.ts'
import type { Offer } from '../../src/vocabulary/offer.ts'
import type { TokenUsage } from '../../src/vocabulary/outcome.ts'
import { usageOf } from '../../src/vocabulary/testing/token-usage.ts'

/** The result of a coding agent's session on an amount of credit. */
export interface Session {
  /** How many of its turns ran. */
  readonly turns: number
  readonly firstHoldMicros: number
  readonly lastHoldMicros: number
  /** The rest of the credit when a turn was refused, or after the last one. */
  readonly leftMicros: number
  readonly medianChargeMicros: number
  /** The turns that were charged more than their hold. */
  readonly chargedAbove: readonly number[]
}

/** A turn as the agent sends it, and what a server with a cache of five minutes counts. */
interface Turn {
  readonly body: object
  /** Tokens that the turn before wrote or read. */
  readonly knownTokens: number
  readonly newTokens: number
  readonly answerTokens: number
}

const ROOT = join(import.meta.dirname, '../..')
/** The instructions and the tools of an agent, which are mostly prose: some 45 kB. */
const INSTRUCTIONS = [
  'hold-before-forward',
  'streams-left-early',
  'sign-in',
  'shared-ports',
  'mail',
]
const INSTRUCTION_CHARS = 24_000
const TOOL_CHARS = 1_000
const TOOLS = 20
/** The text that a turn reads from a file or a command's output. */
const READ_CHARS = 7_000
const ANSWER = 'I will read the next part of the file, since the fault may be in how it ends.'

/** Claude's tokenizers are not public. They count more than o200k does, of code some fifth. */
const CLAUDE_FACTOR = 1.2

const FIVE_MINUTES = { type: 'ephemeral' }

/** The turns of a session: each reads a part of a file, and marks its end for the cache. */
function* sessionTurns(model: string, { capTokens, turns }: SessionInput): Generator<Turn> {
  const prose = INSTRUCTIONS.map((name) => read(`docs/decisions/${name}.md`)).join('\n')
  const code = read('src/journey/hold-size/hold.ts') + read('src/formats/media.ts')
  const tools = Array.from({ length: TOOLS }, (_, place) => ({
    name: `tool_${place}`,
    description: cut(prose, place * TOOL_CHARS, TOOL_CHARS),
    input_schema: { type: 'object', properties: { file_path: { type: 'string' } } },
  }))
  const system = [
    { type: 'text', text: cut(prose, 0, INSTRUCTION_CHARS), cache_control: FIVE_MINUTES },
  ]
  let known = 0
  let spoken: object[] = [{ role: 'user', content: 'Find the fault and mend it.' }]
  let whole = tokensOf(tools) + tokensOf(system) + tokensOf(spoken)
  for (let turn = 0; turn < turns; turn++) {
    const answer = [
      { type: 'text', text: ANSWER },
      {
        type: 'tool_use',
        id: `toolu_${turn}`,
        name: 'tool_1',
        input: { file_path: `/code/${turn}.ts` },
      },
    ]
    const body = {
      model,
      max_tokens: capTokens,
      stream: true,
      system,
      tools,
      messages: spoken.map((message, place) =>
        place === spoken.length - 1 ? marked(message) : message,
      ),
    }
    const answerTokens = tokensOf(answer)
    yield { body, knownTokens: known, newTokens: whole - known, answerTokens }
    known = whole
    const content = cut(code, turn * READ_CHARS, READ_CHARS)
    const heard = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${turn}`, content }],
    }
    spoken = [...spoken, { role: 'assistant', content: answer }, heard]
    whole += answerTokens + tokensOf(heard)
  }
}

interface SessionInput {
  readonly capTokens: number
  readonly turns: number
}

interface RunInput extends SessionInput {
  readonly creditMicros: number
  /** The offer that the holds are sized at. Default: the one that charges. */
  readonly heldAt?: Offer
  /**
   * Whether a prompt is held at the very tokens that are counted of it, as if all were written to the cache: the least that is
   * sure, since a cache may be gone. Default: no, at the gateway's bound.
   */
  readonly isExact?: boolean
}

/** Runs a session on an amount of credit: a turn whose hold exceeds the rest is refused. */
export function runSession(
  offer: Offer,
  { creditMicros, heldAt = offer, isExact = false, ...input }: RunInput,
): Session {
  const messages = FORMATS.find(({ endpoint }) => endpoint === 'messages')
  if (messages === undefined) throw new TypeError('no messages')
  const holds: number[] = []
  const charges: number[] = []
  let leftMicros = creditMicros
  for (const turn of sessionTurns(offer.modelId, input)) {
    const body = parseJsonBody(Buffer.from(JSON.stringify(turn.body)))
    const call = sizeCall(messages.readCall(body, DEFAULT_PUBLIC_NAMES))
    const neededMicros = isExact
      ? exactHoldMicros(turn, { offer, capTokens: input.capTokens })
      : sizeHold(call, heldAt).neededMicros
    holds.push(neededMicros)
    if (neededMicros > leftMicros) break
    const charge = chargeOf(offer, {
      cacheReadTokens: turn.knownTokens,
      cacheWriteTokens: turn.newTokens,
      outputTokens: turn.answerTokens,
    })
    charges.push(charge)
    leftMicros -= charge
  }
  const sorted = charges.toSorted((a, b) => a - b)
  return {
    turns: charges.length,
    firstHoldMicros: holds[0] ?? 0,
    lastHoldMicros: holds.at(-1) ?? 0,
    leftMicros,
    medianChargeMicros: sorted[Math.floor(sorted.length / 2)] ?? 0,
    chargedAbove: charges.flatMap((charge, turn) => (charge > (holds[turn] ?? 0) ? [turn] : [])),
  }
}

function exactHoldMicros(
  { knownTokens, newTokens }: Turn,
  { offer, capTokens }: { readonly offer: Offer; readonly capTokens: number },
): number {
  return chargeOf(offer, { cacheWriteTokens: knownTokens + newTokens, outputTokens: capTokens })
}

function chargeOf({ prices, feeBasisPoints }: Offer, used: Partial<TokenUsage>): number {
  const cost = costOfUsage({ usage: usageOf(used), prices })
  const charge = chargeForCost(cost, feeBasisPoints)
  if (charge === null) throw new TypeError('the charge is too large')
  return charge
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** A part of a text, which starts again at its end. */
function cut(text: string, start: number, chars: number): string {
  const from = start % text.length
  return (text + text).slice(from, from + chars)
}

/** The parts of a value that a model reads: its texts, and the names around them. */
function tokensOf(value: object): number {
  return Math.ceil(CLAUDE_FACTOR * encode(JSON.stringify(value).replaceAll('\\n', '\n')).length)
}

function marked(message: object): object {
  const content = 'content' in message ? message.content : []
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const list = Array.isArray(parts) ? parts : []
  return {
    ...message,
    content: list.map((part, place) =>
      place === list.length - 1 ? { ...part, cache_control: FIVE_MINUTES } : part,
    ),
  }
}
