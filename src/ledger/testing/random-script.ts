import fc from 'fast-check'

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
// Of each hold, so that accounts and models change theirs between any two.
const fee = fc.oneof(fc.constantFrom(0, 500, 10_000), fc.integer({ min: 0, max: 10_000 }))
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

/** What happens to purchases at the provider, and what the gateway looks at and lands. */
type PurchaseStep =
  | {
      readonly kind: 'begin'
      readonly account: string
      readonly credit: number
      readonly units: number
    }
  | { readonly kind: 'truth'; readonly back: number; readonly change: string; readonly by: number }
  | { readonly kind: 'look'; readonly back: number; readonly judged: string; readonly of: string }
  | { readonly kind: 'land'; readonly back: number; readonly words: string }
  | { readonly kind: 'dismiss'; readonly back: number }

type Step =
  | { readonly kind: 'wait'; readonly stepMs: number }
  | { readonly kind: 'expire'; readonly apiKey: string; readonly inMs: number }
  | { readonly kind: 'grant'; readonly words: string; readonly inMs: number; readonly name: string }
  | { readonly kind: 'repeatCredit' }
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
  .tuple(apiKey, amount, amount, optional('free'), optional('alone'), instance, fee)
  .map(([key, a, b, free, alone, by, feeBasisPoints]) => {
    const [least, needed] = a < b ? [a, b] : [b, a]
    return `${key} ${needed} least ${least}${free}${alone} by ${by} fee ${feeBasisPoints}`
  })

const open: fc.Arbitrary<Step> = openWords.map((words) => ({ kind: 'open', words }))

const outcome = fc.oneof(
  amount.map((charge) => `final ${charge}`),
  fc.tuple(amount, optional('estimate')).map(([charge, word]) => `provisional ${charge}${word}`),
)

const standing = amount.map((charge) => `provisional ${charge} stands`)
const settle = ofRequest(
  'settle',
  fc.oneof(outcome, standing, fc.constantFrom('released', 'unresolved')),
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

const show = fc.oneof(account, apiKey).map((id) => `show ${id}`)

// Few purchases, and looks that land soon or late, so that most looks race with another.
const purchaseAge = fc.integer({ min: 0, max: 2 })

const purchaseStep: fc.Arbitrary<PurchaseStep> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('begin'),
      account,
      credit: fc.integer({ min: 1, max: 60 }),
      units: fc.integer({ min: 1, max: 30 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('truth'),
      back: purchaseAge,
      change: fc.constantFrom(
        ...['pay', 'pay', 'refund', 'refund', 'refund', 'win', 'expire', 'dispute', 'dispute'],
      ),
      by: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('look'),
      back: purchaseAge,
      judged: fc.constantFrom('', '', '', '', '', 'hold 60', 'hold 7', 'hold -', 'small'),
      // Now and then a look that names another account, or other money than was paid.
      of: fc.constantFrom(...new Array<string>(12).fill(''), 'other account', 'other payment'),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('land'),
      back: fc.integer({ min: 0, max: 4 }),
      words: fc.constantFrom('', '', '', ' approved'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('dismiss'), back: purchaseAge }) },
)

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
  { weight: 4, arbitrary: stepMs.map((ms): Step => ({ kind: 'wait', stepMs: ms })) },
  { weight: 1, arbitrary: line(instance.map((id) => `abandon ${id}`)) },
  { weight: 1, arbitrary: ofRequest('forget', fc.constant('')) },
  { weight: 1, arbitrary: line(settings) },
  { weight: 1, arbitrary: expire },
  { weight: 4, arbitrary: line(show) },
  { weight: 2, arbitrary: ofRequest('show', fc.constant('')) },
)

/** Scripts of random actions in the language of `runScript`, ending with every figure shown. */
export const randomScript: fc.Arbitrary<string> = fc
  .array(step, { minLength: 20, maxLength: 150, size: 'max' })
  .map((steps) => {
    const writer = new ScriptWriter()
    for (const next of steps) writer.write(next)
    return writer.finish()
  })

/** A purchase as its provider has it. */
interface Truth {
  readonly account: string
  readonly credit: number
  readonly units: number
  found: string
  /** The units that went back. */
  back: number
  disputed: boolean
}

/** Puts steps together into a script: tells the time and names requests by their age. */
class ScriptWriter {
  readonly #lines: string[] = [
    'at 1000.5',
    'credit A1 backed 150 r0',
    'credit A2 free 90 r0 until 1070',
  ]
  #nowMs = 1_000_500
  #opened = 0
  #latestCredit = ''
  readonly #truths: Truth[] = []
  #looks = 0

  write(next: Step): void {
    switch (next.kind) {
      case 'line':
        if (next.line.startsWith('credit')) this.#latestCredit = next.line
        this.#lines.push(next.line)
        return
      case 'open':
        this.#lines.push(`open R${++this.#opened} ${next.words}`)
        return
      case 'ofRequest':
        this.#lines.push(`${next.action} R${Math.max(0, this.#opened - next.back)} ${next.words}`)
        return
      case 'stand': {
        const ids = next.back.map((back) => `R${Math.max(0, this.#opened - back)}`)
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
      case 'wait':
        this.#nowMs += next.stepMs
        this.#lines.push(`at ${this.#nowMs / 1_000}`)
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
    for (let number = 1; number <= this.#opened; number++) this.#lines.push(`show R${number}`)
    this.#lines.push('show A1', 'show A2', ...[...OWNERS.keys()].map((key) => `show ${key}`))
    // The space behind each line is where the arrow of the answer goes.
    return this.#lines.map((words) => `${words.trim()} `).join('\n')
  }
}

/** What happens at the provider: only what is open is paid or expires, and only what is paid goes back. */
function changeTruth(
  truth: Truth,
  { change, by }: { readonly change: string; readonly by: number },
): void {
  if (truth.found === 'open' && change === 'pay') truth.found = 'paid'
  if (truth.found === 'open' && change === 'expire') truth.found = 'expired'
  if (truth.found !== 'paid') return
  if (change === 'refund') truth.back = Math.min(truth.units, truth.back + by)
  if (change === 'win') truth.back = Math.max(0, truth.back - by)
  if (change === 'dispute') truth.disputed = !truth.disputed
}
