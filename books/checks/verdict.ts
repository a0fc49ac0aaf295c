import type { Policy } from '../adapter/adapter.ts'
import type { Sent } from './sent.ts'

/** What a check found in one round. An error that is thrown is `broken`: shown, never counted. */
export interface Verdict {
  readonly verdict: 'pass' | 'fail' | 'figure' | 'n/a' | 'not tried' | 'broken'
  readonly words: string
  readonly figures?: Readonly<Record<string, number>>
}

/** The gateway, its adapter or the machine lacks what a check needs. */
export class Lacking extends Error {
  verdict: 'n/a' | 'not tried' = 'not tried'
}

/** A sum with thousands marked. */
export function money(micros: number): string {
  return micros.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

/** One sum as a part of another. */
export function ratio(micros: number, of: number): string {
  return of === 0 ? (micros === 0 ? '0 of 0' : 'of 0') : `${(micros / of).toFixed(2)} ×`
}

type Told = Required<Pick<Verdict, 'words' | 'figures'>>

/** Words of a verdict and its figures at once: `{ charged }` in the text is a sum of this name. */
export function tell(texts: TemplateStringsArray, ...values: readonly unknown[]): Told {
  const figures: Record<string, number> = {}
  const shown = values.map((value) => {
    if (typeof value !== 'object' || value === null) return String(value)
    Object.assign(figures, value)
    return Object.values(value).map(money).join(', ')
  })
  return { words: String.raw({ raw: texts }, ...shown), figures }
}

/** Pass or fail; null: a figure, which no promise is judged by. */
export function judge(isKept: boolean | null, told: Omit<Verdict, 'verdict'>): Verdict {
  return { verdict: isKept === null ? 'figure' : isKept ? 'pass' : 'fail', ...told }
}

/** What was charged, beside the bill. */
export function beside(charged: number, billed: number): Told {
  return tell`charged ${{ charged }}, billed ${{ billed }} (${ratio(charged, billed)})`
}

/** Compares what was charged with the bill, to 1 micro-dollar a request. */
export function compare(charged: number, billed: number, requests: number): Verdict {
  return judge(Math.abs(charged - billed) <= requests, beside(charged, billed))
}

/** Requests that ended the same way: what they were charged, and the sums of which one is the rule. */
export interface Ending
  extends Readonly<Record<'charged' | 'prompt' | 'billed' | 'whole', number>> {
  readonly sent: readonly Sent[]
}

/** Holds a gateway to its own written rule, or else to bounds; null: without a rule it is a figure. */
export function byRule(rule: Policy | undefined, ending: Ending, isKept: boolean | null): Verdict {
  const { charged, billed, sent } = ending
  const { words, figures } = beside(charged, billed)
  if (rule === undefined)
    return judge(isKept, { words: isKept === null ? `no written rule: ${words}` : words, figures })
  const expected = rule.charge === 'nothing' ? 0 : ending[rule.charge]
  const tolerance = rule.charge === 'billed' ? Math.max(sent.length, expected / 4) : sent.length
  const told = `by its rule (${rule.charge} is charged), ${words}`
  const isByRule = Math.abs(charged - expected) <= tolerance
  return judge(isByRule, { words: told, figures: { ...figures, expected } })
}

/** The same verdict with more words, and their figures. */
export function adding(verdict: Verdict, more: string | Told): Verdict {
  const { words, figures } = typeof more === 'string' ? { words: more } : more
  return { ...verdict, words: verdict.words + words, figures: { ...verdict.figures, ...figures } }
}
