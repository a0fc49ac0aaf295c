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
// Few requests, so that repeats, late settles and corrections of one another's leftovers happen.
const request = fc.integer({ min: 1, max: 24 }).map((number) => `R${number}`)
const instance = fc.constantFrom('I1', 'I2')
const reference = fc.integer({ min: 1, max: 12 }).map((number) => `r${number}`)
const amount = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 100) },
)
const optional = (words: string) => fc.constantFrom('', ` ${words}`)

// Steps around the second and the minute, where windows and expiries turn.
const stepMs = fc.constantFrom(1, 300, 999, 1_000, 5_000, 20_000, 59_000, 59_999, 60_000)

type Step =
  | { readonly kind: 'wait'; readonly stepMs: number }
  | { readonly kind: 'expire'; readonly apiKey: string; readonly inMs: number }
  | { readonly kind: 'grant'; readonly words: string; readonly inMs: number; readonly name: string }
  | { readonly kind: 'line'; readonly line: string }

const line = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Step> =>
  arbitrary.map((words) => ({ kind: 'line', line: words }))

const open = fc
  .tuple(request, apiKey, amount, amount, optional('free'), optional('alone'), instance)
  .map(([id, key, a, b, free, alone, by]) => {
    const [least, needed] = a < b ? [a, b] : [b, a]
    return `open ${id} ${key} ${needed} least ${least}${free}${alone} by ${by}`
  })

const outcome = fc.oneof(
  amount.map((charge) => `final ${charge}`),
  fc.tuple(amount, optional('estimate')).map(([charge, word]) => `provisional ${charge}${word}`),
)

const settle = fc
  .tuple(request, fc.oneof(outcome, fc.constantFrom('released', 'unresolved')))
  .map(([id, words]) => `settle ${id} ${words}`)

const correct = fc
  .tuple(request, fc.oneof(outcome, fc.constant('givenUp')))
  .map(([id, words]) => `correct ${id} ${words}`)

const topUp = fc
  .tuple(account, fc.integer({ min: -30, max: 120 }), reference)
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
  { weight: 2, arbitrary: account.map((id) => `set ${id} disabled`) },
  { weight: 3, arbitrary: account.map((id) => `set ${id} enabled`) },
  { weight: 1, arbitrary: fc.constantFrom('set K2 disabled', 'set K2 deleted') },
)

const show = fc.oneof(account, apiKey, request).map((id) => `show ${id}`)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: line(open) },
  { weight: 8, arbitrary: line(settle) },
  { weight: 4, arbitrary: line(correct) },
  { weight: 3, arbitrary: line(topUp) },
  { weight: 2, arbitrary: grant },
  { weight: 3, arbitrary: stepMs.map((ms): Step => ({ kind: 'wait', stepMs: ms })) },
  { weight: 1, arbitrary: line(instance.map((id) => `sweep ${id}`)) },
  { weight: 1, arbitrary: line(settings) },
  { weight: 1, arbitrary: expire },
  { weight: 4, arbitrary: line(show) },
)

/** Scripts of random actions in the language of `runScript`, ending with every figure shown. */
export const randomScript: fc.Arbitrary<string> = fc
  .array(step, { minLength: 20, maxLength: 120, size: 'max' })
  .map((steps) => {
    let nowMs = 1_000_500
    const lines = [`at ${nowMs / 1_000}`]
    for (const next of steps) {
      if (next.kind === 'line') lines.push(next.line)
      else if (next.kind === 'expire') {
        lines.push(`set ${next.apiKey} expires ${(nowMs + 20 * next.inMs) / 1_000}`)
      } else if (next.kind === 'grant') {
        lines.push(`${next.words} ${next.name} until ${(nowMs + next.inMs) / 1_000}`)
      } else {
        nowMs += next.stepMs
        lines.push(`at ${nowMs / 1_000}`)
      }
    }
    for (let number = 1; number <= 24; number++) lines.push(`show R${number}`)
    lines.push('show A1', 'show A2', ...[...OWNERS.keys()].map((key) => `show ${key}`))
    // An arrow behind each line is where the answer goes.
    return lines.map((words) => `${words} `).join('\n')
  })
