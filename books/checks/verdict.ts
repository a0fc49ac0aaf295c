import type { Policy } from '../adapter/adapter.ts'

/** The result of a check in one round. A thrown error is `broken`: shown, never counted. */
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

/** Requests that ended the same way: what they were charged, and the sums of which one is the rule. */
type Sums = Readonly<Record<'requests' | 'charged' | 'prompt' | 'billed' | 'whole', number>>
type Charged = Pick<Sums, 'charged' | 'billed'>

/** Judges with what was charged, beside the bill. */
export function beside(isKept: boolean | null, sums: Charged, before = ''): Verdict {
  const { charged, billed } = sums
  const share = ratio(charged, billed)
  return judge(isKept, tell`${before}charged ${{ charged }}, billed ${{ billed }} (${share})`)
}

/** Compares what was charged with the bill, to 1 micro-dollar a request. */
export function compare(charged: number, billed: number, requests: number): Verdict {
  return beside(Math.abs(charged - billed) <= requests, { charged, billed })
}

/** Holds a gateway to its own written rule, or else to bounds; null: without a rule it is a figure. */
export function byRule(rule: Policy | undefined, ending: Sums, isKept: boolean | null): Verdict {
  if (rule === undefined) return beside(isKept, ending, isKept === null ? 'no written rule: ' : '')
  const { requests, charged } = ending
  const expected = rule.charge === 'nothing' ? 0 : ending[rule.charge]
  const tolerance = rule.charge === 'billed' ? Math.max(requests, expected / 4) : requests
  const isByRule = Math.abs(charged - expected) <= tolerance
  const verdict = beside(isByRule, ending, `by its rule (${rule.charge} is charged), `)
  return { ...verdict, figures: { ...verdict.figures, expected } }
}

/** Adds words to a verdict, with their figures. */
export function adding(verdict: Verdict, more: string | Told): Verdict {
  const { words, figures } = typeof more === 'string' ? { words: more } : more
  return { ...verdict, words: verdict.words + words, figures: { ...verdict.figures, ...figures } }
}
