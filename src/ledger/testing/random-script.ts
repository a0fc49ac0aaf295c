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

type Step =
  | { readonly kind: 'wait'; readonly stepMs: number }
  | { readonly kind: 'expire'; readonly apiKey: string; readonly inMs: number }
  | { readonly kind: 'grant'; readonly words: string; readonly inMs: number; readonly name: string }
  | { readonly kind: 'repeatCredit' }
  | { readonly kind: 'open'; readonly words: string }
  | {
      readonly kind: 'ofRequest'
      readonly action: string
      readonly back: number
      readonly words: string
    }
  | { readonly kind: 'line'; readonly line: string }

const line = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Step> =>
  arbitrary.map((words) => ({ kind: 'line', line: words }))

const ofRequest = (action: string, arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Step> =>
  fc.tuple(age, arbitrary).map(([back, words]) => ({ kind: 'ofRequest', action, back, words }))

const openWords = fc
  .tuple(apiKey, amount, amount, optional('free'), optional('alone'), instance)
  .map(([key, a, b, free, alone, by]) => {
    const [least, needed] = a < b ? [a, b] : [b, a]
    return `${key} ${needed} least ${least}${free}${alone} by ${by}`
  })

const open: fc.Arbitrary<Step> = openWords.map((words) => ({ kind: 'open', words }))

const outcome = fc.oneof(
  amount.map((charge) => `final ${charge}`),
  fc.tuple(amount, optional('estimate')).map(([charge, word]) => `provisional ${charge}${word}`),
)

const settle = ofRequest('settle', fc.oneof(outcome, fc.constantFrom('released', 'unresolved')))
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

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: open },
  { weight: 12, arbitrary: settle },
  { weight: 6, arbitrary: correct },
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
    }
  }

  finish(): string {
    for (let number = 1; number <= this.#opened; number++) this.#lines.push(`show R${number}`)
    this.#lines.push('show A1', 'show A2', ...[...OWNERS.keys()].map((key) => `show ${key}`))
    // The space behind each line is where the arrow of the answer goes.
    return this.#lines.map((words) => `${words.trim()} `).join('\n')
  }
}
