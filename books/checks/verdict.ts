import type { Policy } from '../adapter/adapter.ts'

/** What a check found in one round. */
export interface Verdict {
  readonly verdict: 'pass' | 'fail' | 'figure' | 'n/a' | 'not tried' | 'broken'
  readonly words: string
  readonly figures?: Readonly<Record<string, number>>
}

/** The suite could not put the promise to the test; shown, never counted. */
export class Broken extends Error {}

/** The gateway, its adapter or the machine lacks what a check needs. */
export class Lacking extends Error {
  readonly isByDocs: boolean

  constructor(words: string, isByDocs = false) {
    super(words)
    this.isByDocs = isByDocs
  }
}

/** A sum with thousands marked. */
export function money(micros: number): string {
  return micros.toLocaleString('en-US', { maximumFractionDigits: 3 })
}

/** One sum as a part of another. */
export function ratio(micros: number, of: number): string {
  return of === 0 ? (micros === 0 ? '0 of 0' : 'of 0') : `${(micros / of).toFixed(2)} ×`
}

type Told = Pick<Verdict, 'words' | 'figures'>

/** Words of a verdict and its figures at once: `{ charged }` in the text is a sum of this name. */
export function tell(texts: TemplateStringsArray, ...values: readonly unknown[]): Required<Told> {
  const figures: Record<string, number> = {}
  const shown = values.map((value) => {
    if (typeof value !== 'object' || value === null) return String(value)
    Object.assign(figures, value)
    return Object.values(value).map(money).join(', ')
  })
  return { words: String.raw({ raw: texts }, ...shown), figures }
}

/** Pass or fail; null: a figure, which no promise is judged by. */
export function judge(isKept: boolean | null, told: Told): Verdict {
  return { verdict: isKept === null ? 'figure' : isKept ? 'pass' : 'fail', ...told }
}

/** What was charged, beside the bill. */
export function beside(charged: number, billed: number): Required<Told> {
  return tell`charged ${{ charged }}, billed ${{ billed }} (${ratio(charged, billed)})`
}

/** Compares what was charged with the bill, to 1 micro-dollar a request. */
export function compare(charged: number, billed: number, requests: number): Verdict {
  return judge(Math.abs(charged - billed) <= requests, beside(charged, billed))
}

/** Requests that ended the same way: what they were charged, and the sums of which one is the rule. */
export interface Ending {
  readonly sent: readonly unknown[]
  readonly charged: number
  readonly prompt: number
  readonly billed: number
  readonly whole: number
}

/** Holds a gateway to its own written rule, or else to bounds; null: without a rule it is a figure. */
export function byRule(
  policy: Policy | undefined,
  ending: Ending,
  isKept: boolean | null,
): Verdict {
  const { charged, billed, sent } = ending
  const { words, figures } = beside(charged, billed)
  if (policy === undefined)
    return judge(isKept, { words: isKept === null ? `no written rule: ${words}` : words, figures })
  const expected = policy.charge === 'nothing' ? 0 : ending[policy.charge]
  const tolerance = policy.charge === 'billed' ? Math.max(sent.length, expected / 4) : sent.length
  return judge(Math.abs(charged - expected) <= tolerance, {
    words: `by its rule (${policy.charge} is charged), ${words}`,
    figures: { ...figures, expected },
  })
}

/** The same verdict with more words. */
export function adding(verdict: Verdict, more: string): Verdict {
  return { ...verdict, words: verdict.words + more }
}
