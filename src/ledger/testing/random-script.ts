import fc from 'fast-check'
import { DAY_MS } from '../../vocabulary/clock.ts'
import { type CodeStep, codeStep, codeWords } from './random-codes.ts'
import { changeTruth, type PurchaseStep, purchaseStep, type Truth } from './random-purchases.ts'

// A Monday and the first of a month in UTC: most scripts begin shortly before a day, a week and a month do.
const PERIODS_START_MS = Date.UTC(1970, 5, 1)
// How far clocks go back in most scripts: further back, windows of a minute begin afresh.
const BACK_MS_MAX = 59_000

/** The accounts and keys that every random script has: the owner of each key. */
export const OWNERS: ReadonlyMap<string, string> = new Map([
  ['K1', 'A1'],
  ['K2', 'A1'],
  ['K3', 'A2'],
])

/** Makes the accounts and keys of {@link OWNERS}. */
export const SETUP = [
  ...['A1', 'A2'].map((id) => `account ${id}`),
  ...[...OWNERS].map(([apiKey, account]) => `key ${apiKey} ${account}`),
].join('\n')

const apiKey = fc.constantFrom(...OWNERS.keys())
const account = fc.constantFrom('A1', 'A2')
// How far back: requests are named by their age when a script is put together.
const age = fc.integer({ min: 0, max: 7 })
const instance = fc.constantFrom('I1', 'I2')
const reference = fc.integer({ min: 1, max: 12 }).map((number) => `r${number}`)
const amount = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 100) },
)
// The fee of each hold: accounts and models change theirs between any two.
const fee = fc.oneof(fc.constantFrom(0, 500, 10_000), fc.integer({ min: 0, max: 10_000 }))
const tokens = fc.integer({ min: 1, max: 30 })
const optional = (words: string) => fc.constantFrom('', ` ${words}`)

// Steps around the second and the minute, where windows and expiries turn.
const stepMs = fc.constantFrom(
  1,
  300,
  300,
  999,
  1_000,
  1_000,
  5_000,
  20_000,
  59_000,
  59_999,
  60_000,
)

// Beside them steps back, and over days, weeks and months.
const jumpMs = fc.constantFrom(
  ...[-1, -1, -1_000, -5_000, -59_000],
  ...[1, 2, 7, 31, -1, -2, -7, -31].map((days) => days * DAY_MS),
)
const zone = fc.constantFrom('UTC', 'UTC', '+05:45', '-03:30')

type Step =
  | { readonly kind: 'wait'; readonly stepMs: number }
  /** To the last start of a day, or to the next. */
  | { readonly kind: 'turn'; readonly days: number; readonly ms: number; readonly offsetMs: number }
  | { readonly kind: 'limit'; readonly words: string }
  | { readonly kind: 'expire'; readonly apiKey: string; readonly inMs: number }
  | { readonly kind: 'grant'; readonly words: string; readonly inMs: number; readonly name: string }
  | { readonly kind: 'repeatCredit' }
  | CodeStep
  | { readonly kind: 'open'; readonly words: string }
  | { readonly kind: 'stand'; readonly action: string; readonly back: readonly number[] }
  | {
      readonly kind: 'ofRequest'
      readonly action: string
      readonly back: number
      readonly words: string
    }
  | { readonly kind: 'line'; readonly line: string }
  | PurchaseStep

const line = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Step> =>
  arbitrary.map((words) => ({ kind: 'line', line: words }))

const ofRequest = (action: string, arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Step> =>
  fc.tuple(age, arbitrary).map(([back, words]) => ({ kind: 'ofRequest', action, back, words }))

const openWords = fc
  .tuple(apiKey, amount, amount, optional('free'), optional('alone'), instance, fee, tokens)
  .map(([key, a, b, free, alone, by, feeBasisPoints, count]) => {
    const [least, needed] = a < b ? [a, b] : [b, a]
    return `${key} ${needed} least ${least}${free}${alone} by ${by} fee ${feeBasisPoints} tokens ${count}`
  })

const open: fc.Arbitrary<Step> = openWords.map((words) => ({ kind: 'open', words }))

const outcome = fc.oneof(
  amount.map((charge) => `final ${charge}`),
  fc.tuple(amount, optional('estimate')).map(([charge, word]) => `provisional ${charge}${word}`),
)

const standing = amount.map((charge) => `provisional ${charge} stands`)
const used = fc.oneof(
  fc.constant(''),
  tokens.map((count) => ` used ${count}`),
)
const settle = ofRequest(
  'settle',
  fc
    .tuple(fc.oneof(outcome, standing, fc.constantFrom('released', 'unresolved')), used)
    .map((words) => words.join('')),
)
const stand = fc.constantFrom('stand final', 'stand final', 'stand lookUp')
const correct = ofRequest('correct', fc.oneof(outcome, fc.constant('givenUp')))
const reopen = ofRequest('open', openWords)

const topUp = fc
  .tuple(account, fc.integer({ min: -30, max: 200 }), reference)
  .map(([id, value, name]) => `credit ${id} backed ${value} ${name}`)

const grant: fc.Arbitrary<Step> = fc
  .tuple(account, fc.integer({ min: 0, max: 80 }), reference, stepMs)
  .map(([id, value, name, inMs]) => ({
    kind: 'grant',
    words: `credit ${id} free ${value}`,
    inMs,
    name,
  }))

const expire: fc.Arbitrary<Step> = fc
  .tuple(apiKey, stepMs)
  .map(([key, inMs]) => ({ kind: 'expire', apiKey: key, inMs }))

const settings = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(apiKey, amount).map(([key, limit]) => `set ${key} limit ${limit}`),
  },
  { weight: 1, arbitrary: account.map((id) => `set ${id} disabled`) },
  { weight: 4, arbitrary: account.map((id) => `set ${id} enabled`) },
  { weight: 1, arbitrary: fc.constantFrom('set K2 disabled', 'set K2 deleted') },
)

const orNone = (arbitrary: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 4, arbitrary }, { weight: 1, arbitrary: fc.constant('none') })

const limit: fc.Arbitrary<Step> = fc
  .tuple(
    fc.oneof(account, apiKey),
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc
          .tuple(
            fc.integer({ min: 0, max: 90 }),
            fc.constantFrom('day', 'day', 'week', 'month'),
            zone,
          )
          .map(([micros, period, name]) => `allowance ${micros}/${period} ${name}`),
      },
      { weight: 1, arbitrary: fc.constant('allowance none') },
      {
        weight: 2,
        arbitrary: orNone(fc.integer({ min: 0, max: 6 }).map(String)).map(
          (max) => `in-flight ${max}`,
        ),
      },
      {
        weight: 2,
        arbitrary: orNone(fc.integer({ min: 0, max: 9 }).map(String)).map(
          (max) => `requests ${max}`,
        ),
      },
      {
        weight: 2,
        arbitrary: orNone(fc.integer({ min: 0, max: 90 }).map(String)).map(
          (max) => `tokens ${max}`,
        ),
      },
    ),
  )
  .map(([id, words]) => ({ kind: 'limit', words: `${id} ${words}` }))

const turn: fc.Arbitrary<Step> = fc
  .tuple(
    fc.constantFrom(0, 1, 1),
    fc.constantFrom(-1, 0, 0, 1),
    fc.constantFrom(0, 0, 20_700_000, -12_600_000),
  )
  .map(([days, ms, offsetMs]) => ({ kind: 'turn', days, ms, offsetMs }))

const show = fc.oneof(account, apiKey).map((id) => `show ${id}`)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: purchaseStep },
  { weight: 12, arbitrary: open },
  { weight: 12, arbitrary: settle },
  { weight: 6, arbitrary: correct },
  {
    weight: 5,
    arbitrary: fc
      .tuple(stand, fc.array(age, { minLength: 1, maxLength: 6 }))
      .map(([action, back]): Step => ({ kind: 'stand', action, back })),
  },
  { weight: 1, arbitrary: reopen },
  { weight: 3, arbitrary: line(topUp) },
  { weight: 2, arbitrary: grant },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'repeatCredit' }) },
  { weight: 3, arbitrary: codeStep },
  { weight: 4, arbitrary: stepMs.map((ms): Step => ({ kind: 'wait', stepMs: ms })) },
  { weight: 2, arbitrary: jumpMs.map((ms): Step => ({ kind: 'wait', stepMs: ms })) },
  { weight: 2, arbitrary: turn },
  { weight: 4, arbitrary: limit },
  { weight: 1, arbitrary: line(instance.map((id) => `abandon ${id}`)) },
  { weight: 1, arbitrary: ofRequest('forget', fc.constant('')) },
  { weight: 1, arbitrary: line(settings) },
  { weight: 1, arbitrary: expire },
  { weight: 4, arbitrary: line(show) },
  { weight: 2, arbitrary: ofRequest('show', fc.constant('')) },
)

/** How far the clock of a script goes back. `never`: it only moves forward, by up to a minute. */
type Back = 'never' | 'a minute' | 'days'

const steps = fc.array(step, { minLength: 20, maxLength: 150, size: 'max' })

/** Scripts of random actions in the language of `runScript`, ending with every figure shown. */
export const randomScript: fc.Arbitrary<string> = fc
  .tuple(steps, fc.constantFrom<Back>('a minute', 'a minute', 'days'))
  .map(([all, back]) => scriptOf(all, back))

/**
 * A random script within the first hours after the epoch, with IDs from before all times, and without allowances: for
 * tests that prune by ID, or move every hour that was rolled up.
 */
export const randomScriptOfHours: fc.Arbitrary<string> = steps.map((all) => scriptOf(all, 'never'))

function scriptOf(all: readonly Step[], back: Back): string {
  const writer = new ScriptWriter(back)
  for (const next of all) writer.write(next)
  return writer.finish()
}

/** Puts steps together into a script: adds times, and names requests by their age. */
class ScriptWriter {
  readonly #lines: string[] = []
  readonly #back: Back
  readonly #idPrefix: string
  #nowMs: number
  #newestMs: number
  #opened = 0
  #latestCredit = ''
  #codes = 0
  readonly #truths: Truth[] = []
  #looks = 0

  constructor(back: Back) {
    this.#back = back
    // An allowance finds its requests by the times in their ids.
    this.#idPrefix = back === 'never' ? 'R' : 'req_z'
    this.#nowMs = back === 'never' ? 1_000_500 : PERIODS_START_MS - 19_500
    this.#newestMs = this.#nowMs
    const startSeconds = this.#nowMs / 1_000
    this.#lines.push(
      `at ${startSeconds}`,
      'credit A1 backed 150 r0',
      `credit A2 free 90 r0 until ${startSeconds + 70}`,
    )
  }

  write(next: Step): void {
    switch (next.kind) {
      case 'line':
        if (next.line.startsWith('credit')) this.#latestCredit = next.line
        this.#lines.push(next.line)
        return
      case 'open':
        this.#opened++
        this.#lines.push(`open ${this.#idOf(0)} ${next.words}`)
        return
      case 'ofRequest':
        this.#lines.push(`${next.action} ${this.#idOf(next.back)} ${next.words}`)
        return
      case 'stand': {
        const ids = next.back.map((back) => this.#idOf(back))
        this.#lines.push(`${next.action} ${ids.join(' ')}`)
        return
      }
      case 'expire':
        this.#lines.push(`set ${next.apiKey} expires ${(this.#nowMs + 60 * next.inMs) / 1_000}`)
        return
      case 'grant':
        this.#latestCredit = `${next.words} ${next.name} until ${(this.#nowMs + next.inMs) / 1_000}`
        this.#lines.push(this.#latestCredit)
        return
      case 'repeatCredit':
        this.#lines.push(this.#latestCredit)
        return
      case 'code':
        this.#lines.push(`code C${++this.#codes} ${codeWords(next, this.#nowMs)}`)
        return
      case 'redeem':
        this.#lines.push(`redeem C${Math.max(0, this.#codes - next.back)} ${next.account}`)
        return
      case 'wait':
        if (this.#back === 'never' && (next.stepMs < 0 || next.stepMs >= DAY_MS)) return
        this.#moveTo(this.#nowMs + next.stepMs)
        return
      case 'turn': {
        if (this.#back === 'never') return
        const today = Math.floor((this.#nowMs + next.offsetMs) / DAY_MS)
        this.#moveTo((today + next.days) * DAY_MS - next.offsetMs + next.ms)
        return
      }
      case 'limit':
        // After a clock has gone back by more than a minute, a settle may not find its second of tokens.
        if (this.#back === 'days' && next.words.includes('tokens')) return
        if (this.#back === 'never' && next.words.includes('allowance')) return
        this.#lines.push(`set ${next.words}`)
        return
      case 'begin': {
        const { account, credit, units } = next
        this.#truths.push({ account, credit, units, found: 'open', back: 0, disputed: false })
        return
      }
      default:
        this.#writePurchase(next)
    }
  }

  /** The request that was opened so many requests ago. */
  #idOf(back: number): string {
    return `${this.#idPrefix}${Math.max(0, this.#opened - back)}`
  }

  #moveTo(atMs: number): void {
    this.#nowMs = this.#back === 'days' ? atMs : Math.max(atMs, this.#newestMs - BACK_MS_MAX)
    this.#newestMs = Math.max(this.#newestMs, this.#nowMs)
    this.#lines.push(`at ${this.#nowMs / 1_000}`)
  }

  #writePurchase(next: Exclude<PurchaseStep, { kind: 'begin' }>): void {
    const place = Math.max(0, this.#truths.length - 1 - next.back)
    const truth = this.#truths[place]
    if (truth === undefined) return
    switch (next.kind) {
      case 'truth':
        changeTruth(truth, next)
        return
      case 'look':
        this.#look(place + 1, truth, next)
        return
      case 'land':
        if (this.#looks > next.back)
          this.#lines.push(`land L${this.#looks - next.back}${next.words}`)
        return
      case 'dismiss':
        this.#lines.push(`dismiss P${place + 1}`)
    }
  }

  #look(
    number: number,
    { account, credit, units, found, back, disputed }: Truth,
    { judged, of }: Pick<Extract<PurchaseStep, { kind: 'look' }>, 'judged' | 'of'>,
  ): void {
    const buyer = of === 'other account' && account === 'A1' ? 'A2' : account
    const paid = of === 'other payment' ? units + 1 : units
    const noted = disputed ? 'disputed ' : ''
    const facts = found === 'paid' ? `paid ${paid} back ${back} ${noted}${judged}` : found
    this.#lines.push(`look L${++this.#looks} P${number} ${buyer} ${credit} ${facts}`)
  }

  finish(): string {
    for (const [place, truth] of this.#truths.entries()) {
      this.#look(place + 1, truth, { judged: '', of: '' })
      this.#lines.push(`land L${this.#looks}`, `show P${place + 1}`)
    }
    for (let back = this.#opened - 1; back >= 0; back--)
      this.#lines.push(`show ${this.#idOf(back)}`)
    this.#lines.push('show A1', 'show A2', ...[...OWNERS.keys()].map((key) => `show ${key}`))
    // The space behind each line is where the arrow of the answer goes.
    return this.#lines.map((words) => `${words.trim()} `).join('\n')
  }
}
