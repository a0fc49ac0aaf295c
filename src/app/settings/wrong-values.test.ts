import { expect, test } from 'vitest'
import { SETTINGS } from '../config.ts'
import { faultsOf } from '../testing/config-faults.ts'

/** The fault that begins with the name of its setting, for one wrong value. */
function faultOf(name: string, value: string): string | undefined {
  return faultsOf({ [name]: value }).find((fault) => fault.startsWith(`${name} `))
}

// No setting can have it but those of free text.
const WRONG = 'no such value!'

const FREE_TEXT = [
  'TOLLGATE_UPSTREAMS',
  'TOLLGATE_PER_SEARCH_MODELS',
  'TOLLGATE_NOT_PER_SEARCH_MODELS',
  'TOLLGATE_SELLER_NAME',
  'TOLLGATE_NAME',
  'OIDC_NAME',
  'OTEL_SERVICE_NAME',
]

const UNITS = [
  [/_(MS|TIMEOUT|INTERVAL)$/, 'a whole number of milliseconds'],
  [/BYTES_MAX$/, 'a whole number of bytes'],
  [/^TOLLGATE_(SALE_)?FEE_BPS$/, 'a whole number of hundredths of a percent'],
  [/_MICROS$/, 'a whole number of micro-dollars'],
  [/_DAYS$/, 'a whole number of days'],
] as const

test('a setting with a wrong value does not start the server, and is named in the fault', () => {
  const names = Object.keys(SETTINGS).filter((name) => !FREE_TEXT.includes(name))
  expect(names.filter((name) => faultOf(name, WRONG) === undefined)).toEqual([])
})

test('the fault of a number with a unit names the unit and a value that works', () => {
  const united = Object.keys(SETTINGS).flatMap((name) => {
    const [, unit] = UNITS.find(([pattern]) => pattern.test(name)) ?? []
    return unit === undefined ? [] : [{ name, unit }]
  })
  expect(united.length).toBeGreaterThan(20)
  for (const { name, unit } of united) {
    const fault = faultOf(name, '5m')
    expect(fault).toContain(`${name} is "5m": it must be ${unit}`)
    const [, example = '30'] = /such as (\d+)/.exec(fault ?? '') ?? []
    expect([name, faultOf(name, example)]).toEqual([name, undefined])
  }
})

test('the example of an address or a name in a fault is a value that works', () => {
  for (const [name, { secret }] of Object.entries(SETTINGS)) {
    const fault = faultOf(name, secret ? `${WRONG} ` : WRONG) ?? ''
    const [, example] =
      /(?:such as|like) `?([^` ]+?)`?(?:,? (?:or|and|with|for) .*)?$/.exec(fault) ?? []
    if (example === undefined || /^\d+$|^openssl$/.test(example)) continue
    const again = faultOf(name, example)
    expect([name, again?.startsWith(`${name} is "`) ?? false]).toEqual([name, false])
  }
})

test('a secret from a provider that has a space must be copied again, not made anew', () => {
  for (const name of ['GOOGLE_CLIENT_SECRET', 'GITHUB_CLIENT_SECRET', 'OIDC_CLIENT_SECRET']) {
    expect(faultOf(name, 'two words')).toBe(
      `${name} has characters that no secret has, such as a space: copy it again from where it was created`,
    )
  }
})

test('a value that cannot be read causes no second fault about what it would mean', () => {
  expect(faultsOf({ TOLLGATE_SALE_MAXIMUM: '-1' }).slice(1)).toEqual([
    'TOLLGATE_SALE_MAXIMUM is "-1": it must be dollars, such as 5 or 12.50',
  ])
  expect(faultsOf({ CHAIN_ID: 'base' }).join('\n')).not.toContain('a chain of real money')
})

test('an unknown dialect is shown with the known ones, and with the one that most vendors speak', () => {
  expect(faultOf('UPSTREAM_DIALECT', 'gemini')).toBe(
    'UPSTREAM_DIALECT is "gemini": it must be anthropic, openai, openai-compatible or openrouter; most other vendors speak openai-compatible (docs/upstreams.md)',
  )
})
