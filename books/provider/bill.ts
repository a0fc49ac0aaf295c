import type { Script } from './script.ts'

/** Micro-dollars a token of `books-1`. Reasoning is output. */
export const PRICES = { input: 10, cached: 1, written: 12, output: 50 } as const

/** The longest answer of `books-1`, in tokens. */
export const ANSWER_TOKENS_MAX = 4_096

/** How a request ended, seen by the provider; `running` has not. */
type End = 'running' | 'whole' | 'left' | 'dropped' | 'lost' | 'refused' | 'hung'

/** One arrival at the provider, and what it costs: the truth that a gateway is compared with. */
export interface Line {
  readonly id: string
  readonly model: string
  readonly script: Script
  /** The body as it arrived. */
  readonly json: string
  /** Which arrival of its id it is, from 1. */
  readonly arrival: number
  /** The fault that it meets, which may be meant only for earlier arrivals. */
  readonly fault: Script['fault']
  /** Tokens of the answer that were asked for, and those generated so far. */
  readonly outMax: number
  out: number
  end: End
}

/** The cost of lines, in micro-dollars. */
export function microsOf(...lines: readonly Line[]): number {
  return lines.reduce((sum, { script, fault, out, outMax, end }) => {
    // A hanging call bills nothing, however late that is seen.
    if (script.usage === 'zero' || end === 'refused' || fault === 'hang') return sum
    const isAll = end === 'whole' || end === 'lost'
    return sum + promptMicros(script) + (isAll ? outMax : out) * PRICES.output
  }, 0)
}

/** The cost of the prompt alone, in micro-dollars. */
export function promptMicros(script: Pick<Script, 'in' | 'cached' | 'written'>): number {
  const plain = script.in - script.cached - script.written
  return plain * PRICES.input + script.cached * PRICES.cached + script.written * PRICES.written
}

/** Files an arrival on a bill. */
export function openLine(bill: Line[], arrived: Omit<Line, 'arrival' | 'fault' | 'out' | 'end'>) {
  const { id, script } = arrived
  const arrival = 1 + bill.filter((line) => line.id === id).length
  const fault = script.times === null || arrival <= script.times ? script.fault : null
  const line: Line = { ...arrived, arrival, fault, out: 0, end: 'running' }
  bill.push(line)
  return line
}

/** Notes how a request ended, unless it had ended before. */
export function endLine(line: Line, end: End): void {
  if (line.end === 'running') line.end = end
}
