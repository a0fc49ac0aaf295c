import type { Script } from './script.ts'

/** Micro-dollars a token of `books-1`. Reasoning is output. */
export const PRICES = { input: 10, cached: 1, written: 12, output: 50 } as const

/** The longest answer of `books-1`, in tokens. */
export const ANSWER_TOKENS_MAX = 4_096

/** How a request ended, seen by the provider; `running` has not. */
export type End = 'running' | 'whole' | 'left' | 'dropped' | 'lost' | 'refused' | 'hung'

/** One arrival at the provider, and what it costs. */
export interface Line {
  readonly id: string
  readonly model: string
  readonly script: Script
  /** The body as it arrived. */
  readonly json: string
  /** Which arrival of its id it is, from 1. */
  readonly arrival: number
  /** What it meets, which may be meant for earlier arrivals alone. */
  readonly fault: Script['fault']
  /** Tokens of the answer that were asked for, and those generated so far. */
  readonly outMax: number
  out: number
  end: End
}

/** What lines cost, in micro-dollars. */
export function microsOf(...lines: readonly Line[]): number {
  return lines.reduce((sum, { script, out, outMax, end }) => {
    if (script.usage === 'zero' || end === 'refused' || end === 'hung') return sum
    const isAll = end === 'whole' || end === 'lost'
    return sum + promptMicros(script) + (isAll ? outMax : out) * PRICES.output
  }, 0)
}

/** What the prompt alone costs, in micro-dollars. */
export function promptMicros(script: Pick<Script, 'in' | 'cached' | 'written'>): number {
  const plain = script.in - script.cached - script.written
  return plain * PRICES.input + script.cached * PRICES.cached + script.written * PRICES.written
}

/** The provider's record of every arrival: the truth that a gateway is compared with. */
export class Bill {
  readonly #lines: Line[] = []

  /** Files an arrival. */
  open(arrived: Pick<Line, 'id' | 'model' | 'script' | 'json' | 'outMax'>): Line {
    const { id, script } = arrived
    const arrival = 1 + this.#lines.filter((line) => line.id === id).length
    const fault = script.times === null || arrival <= script.times ? script.fault : null
    const more = { arrival, fault, out: 0, end: 'running' as const }
    const line: Line = { ...arrived, ...more }
    this.#lines.push(line)
    return line
  }

  /** The lines of ids that begin with a prefix. */
  lines(prefix: string): readonly Line[] {
    return this.#lines.filter(({ id }) => id.startsWith(prefix))
  }
}

/** Notes how a request ended, unless it had ended before. */
export function endLine(line: Line, end: End): void {
  if (line.end === 'running') line.end = end
}
