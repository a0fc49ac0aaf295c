import { isRecord, parseJson } from '../json.ts'

const FAULTS = [null, '400', '401', '429', '500', 'drop', 'lost', 'hang'] as const

const PLAIN = {
  // Tokens of the prompt, of which some are read from a cache, and some written to one.
  in: 100,
  cached: 0,
  written: 0,
  // Tokens of the answer, of which `reason` are not shown. The request's cap cuts them.
  out: 50,
  reason: 0,
  // Milliseconds before the headers, and between two events.
  wait: 0,
  gap: 0,
  usage: 'asked' as 'asked' | 'never' | 'zero' | 'late',
  fault: null as (typeof FAULTS)[number],
  // The events after which `drop` breaks off.
  after: 0,
  // The first arrivals of this id that meet the fault; null: all.
  times: null as number | null,
  // Text in front of the answer; `tool` puts it into the arguments of a tool call.
  say: '',
  tool: false,
  // The prompt's own text, in place of words that come to `in` tokens.
  text: '',
}

/** The provider's handling of a request, which the request's own prompt names. Two arrivals of one id are a retry. */
export type Script = Readonly<typeof PLAIN> & { readonly id: string }

/** Fields of a script that differ from 100 tokens in and 50 out, without a fault. */
export type Scripted = Partial<Omit<Script, 'id'>>

export const scriptOf = (id: string, fields: Scripted): Script => ({ id, ...PLAIN, ...fields })

// Each is one token of o200k, with the space in front of it.
const WORDS = [' one', ' two', ' three', ' four', ' five', ' six', ' seven', ' eight', ' nine']

/** The token of an answer at this place. */
export const wordAt = (index: number): string => WORDS[index % WORDS.length] ?? ''

/** Text of so many tokens. */
export function wordsOf(tokens: number): string {
  return Array.from({ length: Math.max(0, tokens) }, (_, index) => wordAt(index)).join('')
}

/** The prompt of a script: what the provider shall do, and text that comes to about `in` tokens. */
export function promptOf(script: Script): string {
  const { text, ...fields } = script
  const told = Object.entries(fields).filter(
    ([name, value]) => name === 'id' || value !== PLAIN[name as keyof typeof PLAIN],
  )
  const order = `books:${JSON.stringify(Object.fromEntries(told))}`
  // A token of JSON is three characters or fewer.
  return `${order}${text === '' ? wordsOf(script.in - Math.ceil(order.length / 3)) : ` ${text}`}`
}

/** Reads the script in a text; null where none is, or where it is not one. */
export function readScript(text: string): Script | null {
  const fields = parseJson(/books:(\{[^{}]*\})/.exec(text)?.[1] ?? '')
  if (!isRecord(fields) || typeof fields['id'] !== 'string') return null
  const script = { ...PLAIN, id: '', ...fields } as Script
  const isWhole = Object.keys(script).every((name) => name === 'id' || name in PLAIN)
  return isWhole && FAULTS.includes(script.fault) ? script : null
}
