import { expect, test } from 'vitest'
import { readConfig, SETTINGS, shortTokenWarnings, storeUrlOf } from './config.ts'
import { faultsOf } from './testing/config-faults.ts'

test('an empty environment has every default', () => {
  const config = readConfig({})
  expect(Object.keys(config)).toEqual(Object.keys(SETTINGS))
  for (const [name, { fallback, schema }] of Object.entries(SETTINGS)) {
    const value = Object.entries(config).find(([found]) => found === name)?.[1]
    expect([name, value]).toEqual([name, fallback === null ? null : schema.parse(fallback)])
  }
  expect(Object.isFrozen(config)).toBe(true)
})

test("the limits of requests and waits are the contract's defaults until a setting changes them", () => {
  const minuteMs = 60_000
  expect(readConfig({})).toMatchObject({
    TOLLGATE_REQUESTS_PER_MINUTE: 300,
    TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED: 20,
    TOLLGATE_REQUESTS_IN_FLIGHT: 8,
    TOLLGATE_HEADERS_TIMEOUT_MS: 5 * minuteMs,
    TOLLGATE_BODY_STALL_TIMEOUT_MS: 5 * minuteMs,
    TOLLGATE_TOTAL_TIMEOUT_MS: 15 * minuteMs,
    TOLLGATE_IMAGE_TIMEOUT_MS: 2 * minuteMs,
    TOLLGATE_PRICES_STALE_AFTER_MS: 60 * minuteMs,
  })
})

test('an empty value is the same as none', () => {
  const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
  expect(readConfig(empty)).toEqual(readConfig({}))
})

test('all faults are reported at once, each with its remedy', () => {
  const faults = faultsOf({
    PORT: '70000',
    DATABASE_URL: 'mysql://x',
    UPSTREAM_BASE_URL: 'https://provider.example/api',
    ADMIN_API_TOKEN: 'two words',
    LOG_LEVEL: 'loud',
    TOLLGATE_COST_HEADER: 'X Cost',
    TOLLGATE_REQUESTS_PER_MINUTE: '1.5',
    TOLLGATE_HEADER_TIMEOUT_MS: '5',
    PATH: '/usr/bin',
  })
  expect(faults).toEqual([
    'the environment cannot be used (docs/config.md has all settings):',
    'PORT is "70000": it must be a whole number, 0 to 65535',
    'DATABASE_URL cannot be used: a database URL is sqlite:/path/to/file.db, sqlite:./path/to/file.db or postgres://user:password@host:port/database',
    'ADMIN_API_TOKEN must be printable ASCII without spaces, such as `openssl rand -hex 32` makes',
    'LOG_LEVEL is "loud": it must be trace, debug, info, warn, error, fatal or silent',
    'TOLLGATE_COST_HEADER is "X Cost": it must be lower-case letters, digits and hyphens, such as x-service-cost, and not a header that answers already have',
    'TOLLGATE_REQUESTS_PER_MINUTE is "1.5": it must be a whole number, 1 or more',
    'TOLLGATE_HEADER_TIMEOUT_MS is not a setting: did you mean TOLLGATE_HEADERS_TIMEOUT_MS?',
    'UPSTREAM_BASE_URL is "https://provider.example/api": it must be an http or https address without a query, ending in /v1, such as https://openrouter.ai/api/v1',
    "UPSTREAM_BASE_URL is set without UPSTREAM_API_KEY: set it to the gateway's key at the upstream",
  ])
})

test('a key without its provider is refused with both ways to name the provider', () => {
  expect(faultsOf({ UPSTREAM_API_KEY: 'key' }).join()).toMatch(
    /set UPSTREAM_DIALECT to openrouter, openai or anthropic, or set UPSTREAM_BASE_URL/,
  )
})

test('the value of a secret, or of an address with a password, is in no fault', () => {
  const faults = faultsOf({
    METRICS_TOKEN: 'hush hush',
    CHAIN_DEPOSIT_XPUB: 'hush hush',
    STRIPE_SECRET_KEY: 'hush',
    OIDC_ISSUER: 'https://user:hush@id.example.com',
    TOLLGATE_PUBLIC_URL: 'https://user:hush@gate.example.com',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'user:hush@collector:4318',
    GITHUB_URL: 'https://user:hu/hush@gh.example',
  })
  expect(faults.length).toBeGreaterThan(5)
  expect(faults.join()).not.toContain('hush')
})

test.each([
  ['TOLLGATE_KEYTAG', ': did you mean TOLLGATE_KEY_TAG?'],
  ['TOLLGATE_COLOUR', ''],
  ['TOLLGATE_PORT', ': did you mean PORT?'],
  ['TOLLGATE_SETTLE_AFTER', ': did you mean TOLLGATE_SETTLE_AFTER_MS?'],
  ['TOLLGATE_MAX_BUFFER_BYTES', ': did you mean TOLLGATE_BUFFER_BYTES_MAX?'],
])('%s is not a setting%s', (name, suggested) => {
  expect(faultsOf({ [name]: '1' })).toEqual([
    'the environment cannot be used (docs/config.md has all settings):',
    `${name} is not a setting${suggested}`,
  ])
})

test.each(
  Object.keys(SETTINGS).filter((name) =>
    /(TIMEOUT|WAIT|POLL|REFRESH)_MS$|^OTEL_.*_TIMEOUT$/.test(name),
  ),
)('%s is at most the longest wait of a timer, because Node ends a longer one at once', (name) => {
  expect(() => readConfig({ [name]: '2147483647' })).not.toThrow()
  expect(faultsOf({ [name]: '2147483648' }).at(-1)).toMatch(
    new RegExp(
      `^${name} is "\\d+": it must be a whole number of milliseconds, \\d+ to 2147483647, such as \\d+$`,
    ),
  )
})

test('a shell that has the API key of a client may run a command', () => {
  expect(() => readConfig({ TOLLGATE_API_KEY: 'sk-tollgate-x' })).not.toThrow()
})

test('no message has the value of a secret', () => {
  const faults = faultsOf({
    ADMIN_API_TOKEN: 'hush hush',
    METRICS_TOKEN: 'hush hush',
    UPSTREAM_API_KEY: 'hushed',
    OTEL_EXPORTER_OTLP_HEADERS: 'hush',
  })
  expect(faults).toHaveLength(5)
  expect(faults.join()).not.toMatch(/hush/)
})

test.each(['content-length', 'transfer-encoding', 'x-request-id', 'retry-after', 'set-cookie'])(
  'the charge is not sent as %s, which answers have already',
  (header) => {
    expect(faultsOf({ TOLLGATE_COST_HEADER: header })[1]).toContain(
      `TOLLGATE_COST_HEADER is "${header}": it must be`,
    )
    expect(readConfig({ TOLLGATE_COST_HEADER: `x-${header}` })).toMatchObject({})
  },
)

test.each([
  ['a line break', { UPSTREAM_API_KEY: 'hush\nhush' }, /^UPSTREAM_API_KEY has characters/],
  ['a letter with an accent', { UPSTREAM_API_KEY: 'húsh' }, /^UPSTREAM_API_KEY has characters/],
  ['a query', { UPSTREAM_BASE_URL: 'https://provider.example/?a=/v1' }, /^UPSTREAM_BASE_URL must/],
  [
    'a password',
    { UPSTREAM_BASE_URL: 'https://a:b@provider.example/v1' },
    /^UPSTREAM_BASE_URL must/,
  ],
])(
  'an upstream with %s in its key or address is refused at the start, not by each call',
  (_, env, fault) => {
    const upstream = { UPSTREAM_BASE_URL: 'https://provider.example/v1', UPSTREAM_API_KEY: 'k' }
    const [, ...faults] = faultsOf({ ...upstream, ...env })
    expect(faults).toEqual([expect.stringMatching(fault)])
    expect(faults.join()).not.toMatch(/h.sh/)
  },
)

test('metrics never take the port of the clients', () => {
  expect(faultsOf({ METRICS_PORT: '8787' })).toHaveLength(2)
  expect(faultsOf({ PORT: '80', METRICS_PORT: '80' })).toHaveLength(2)
  expect(faultsOf({ PORT: '0', METRICS_PORT: '0' })).toEqual([])
  expect(faultsOf({ PORT: '80', METRICS_PORT: '8787' })).toEqual([])
  expect(faultsOf({ METRICS_PORT: '70000' })).toHaveLength(2)
})

test('play money and real money have separate stores unless DATABASE_URL is set', () => {
  const upstream = { UPSTREAM_BASE_URL: 'https://provider.example/v1', UPSTREAM_API_KEY: 'k' }
  expect(storeUrlOf(readConfig({}))).toBe('sqlite:./data/simulator.db')
  expect(storeUrlOf(readConfig(upstream))).toBe('sqlite:./data/tollgate.db')
  expect(storeUrlOf(readConfig({ DATABASE_URL: 'sqlite:./x.db' }))).toBe('sqlite:./x.db')
})

test('Activity is kept for ever, or for a whole number of days from one on', () => {
  expect(readConfig({}).TOLLGATE_ACTIVITY_DAYS).toBeNull()
  expect(readConfig({ TOLLGATE_ACTIVITY_DAYS: '90' }).TOLLGATE_ACTIVITY_DAYS).toBe(90)
  for (const days of ['0', '-1', '1.5', '36501', 'x']) {
    expect(() => readConfig({ TOLLGATE_ACTIVITY_DAYS: days })).toThrow(
      `TOLLGATE_ACTIVITY_DAYS is "${days}": it must be a whole number of days, 1 to 36500`,
    )
  }
})

test.each([
  { UPSTREAM_BASE_URL: 'https://provider.example/v1', UPSTREAM_API_KEY: 'k' },
  { UPSTREAM_DIALECT: 'openai', UPSTREAM_API_KEY: 'k' },
  { TOLLGATE_UPSTREAMS: 'upstreams.yaml' },
])('real money buys no play credit, and test cards buy no real credit: %o', (upstream) => {
  const live = { STRIPE_SECRET_KEY: 'rk_live_hush', TOLLGATE_PUBLIC_URL: 'https://gate.example' }
  expect(faultsOf({ ...upstream, ...live })).toEqual([])
  expect(faultsOf({ STRIPE_SECRET_KEY: 'sk_test_hush' })).toEqual([])
  expect(faultsOf(live)[1]).toMatch('real money would buy play credit')
  const mixed = { ...upstream, STRIPE_SECRET_KEY: 'sk_test_hush' }
  expect(faultsOf(mixed)[1]).toMatch('test cards would buy real credit')
  expect(faultsOf({ ...upstream, ...live, TOLLGATE_PUBLIC_URL: '' })[1]).toMatch(
    'STRIPE_SECRET_KEY needs TOLLGATE_PUBLIC_URL',
  )
  for (const wrong of ['pk_live_hush', 'whsec_hush', 'hush']) {
    expect(faultsOf({ STRIPE_SECRET_KEY: wrong })[1]).toMatch(/^STRIPE_SECRET_KEY must be a secret/)
  }
  expect(faultsOf({ STRIPE_WEBHOOK_SECRET: 'whsec_hush' })[1]).toMatch('without STRIPE_SECRET_KEY')
})

test('amounts of the sale are dollars and cents, the minimum not above the maximum', () => {
  expect(readConfig({}).TOLLGATE_SALE_MINIMUM).toBe(5_000_000)
  expect(readConfig({ TOLLGATE_SALE_MINIMUM: '12.5' }).TOLLGATE_SALE_MINIMUM).toBe(12_500_000)
  for (const wrong of ['0', '0.00', '-1', '1.005', '1e3', '$5', '123456789']) {
    expect(faultsOf({ TOLLGATE_SALE_MINIMUM: wrong })[1], wrong).toBe(
      `TOLLGATE_SALE_MINIMUM is "${wrong}": it must be dollars, such as 5 or 12.50`,
    )
  }
  expect(faultsOf({ TOLLGATE_SALE_MINIMUM: '501' })[1]).toMatch('is above TOLLGATE_SALE_MAXIMUM')
  expect(faultsOf({ TOLLGATE_SALE_MAXIMUM: '500' })).toEqual([])
  expect(faultsOf({ TOLLGATE_SELLER_TAX_ID: 'GB1' })[1]).toMatch('without TOLLGATE_SELLER_NAME')
})

test('a token of fewer than 12 characters, as of passwords, is accepted with a warning', () => {
  for (const name of ['ADMIN_API_TOKEN', 'METRICS_TOKEN']) {
    const warningsOf = (token: string) => shortTokenWarnings(readConfig({ [name]: token }))
    expect(warningsOf('elevenchars')).toEqual([
      `${name} has fewer than 12 characters and can be guessed: set a longer one, such as \`openssl rand -hex 32\` makes`,
    ])
    expect(warningsOf('twelve_chars')).toEqual([])
  }
  expect(shortTokenWarnings(readConfig({}))).toEqual([])
})

test.each([
  [{ PORT: '8787\r' }, 'PORT begins or ends with a line break: remove it.'],
  [{ DATABASE_URL: 'sqlite:./x.db\r' }, 'DATABASE_URL begins or ends with a line break'],
  [{ PORT: ' 8787' }, 'PORT begins or ends with a space: remove it'],
  [{ ADMIN_API_TOKEN: 'a-token-of-a-test ' }, 'ADMIN_API_TOKEN begins or ends with a space'],
  [{ PORT: '"8787"' }, 'PORT is in quotes, which are read as a part of the value: remove them'],
  [{ ADMIN_API_TOKEN: '"a-token-of-a-test"' }, 'ADMIN_API_TOKEN is in quotes'],
  [{ DATABASE_URL: "'sqlite:./x.db'" }, 'DATABASE_URL is in quotes'],
  [{ TOLLGATE_SELLER_NAME: '"Acme"' }, 'TOLLGATE_SELLER_NAME is in quotes'],
])('characters around a value are named, without the value: %j', (env, fault) => {
  const [, ...faults] = faultsOf(env)
  expect(faults).toEqual([expect.stringContaining(fault)])
  expect(faults.join()).not.toContain('a-token')
})

test('lists and names may have spaces and line breaks around them', () => {
  const proxies = { TOLLGATE_TRUSTED_PROXIES: ' 127.0.0.1,\n 10.0.0.0/8\n' }
  expect(readConfig({ ...proxies, TOLLGATE_SELLER_NAME: 'Acme ' })).toMatchObject({
    TOLLGATE_TRUSTED_PROXIES: ['127.0.0.1', '10.0.0.0/8'],
    TOLLGATE_SELLER_NAME: 'Acme ',
  })
})

test('a name may begin and end with words in quotes', () => {
  for (const name of ['"Acme" and "Sons"', "'Acme' & 'Sons'"]) {
    expect(readConfig({ TOLLGATE_SELLER_NAME: name }).TOLLGATE_SELLER_NAME).toBe(name)
  }
})

test('HOST is an address or a name, without a scheme or a port', () => {
  const links = ['fe80::1%eth0', 'fe80::1%br-lan', 'fe80::1%eth0.10']
  for (const host of ['127.0.0.1', '::', '::1', ...links, 'localhost', 'gate-1.internal']) {
    expect(readConfig({ HOST: host }).HOST).toBe(host)
  }
  for (const host of ['http://x', 'localhost:80', '[::]', '127.0.0.1:80', 'a b']) {
    expect(faultsOf({ HOST: host })[1]).toMatch('without a port, such as 127.0.0.1 or ::')
  }
})

test('a number with more digits than can be read is refused with how many can', () => {
  expect(faultsOf({ TOLLGATE_REQUESTS_PER_MINUTE: '9'.repeat(16) })[1]).toMatch(
    /must be a whole number, 1 or more, with at most 15 digits$/,
  )
})

test('a port is shared only on PostgreSQL', () => {
  expect(readConfig({}).TOLLGATE_REUSE_PORT).toBe('off')
  const on = { TOLLGATE_REUSE_PORT: 'on' }
  const onPostgres = { ...on, DATABASE_URL: 'postgres://ada@db.example/tollgate' }
  expect(readConfig(onPostgres).TOLLGATE_REUSE_PORT).toBe('on')
  for (const onSqlite of [on, { ...on, DATABASE_URL: 'sqlite:./x.db' }]) {
    expect(faultsOf(onSqlite)[1]).toBe(
      'TOLLGATE_REUSE_PORT=on needs PostgreSQL, because a SQLite store is served by one process: set DATABASE_URL to a PostgreSQL database, or leave TOLLGATE_REUSE_PORT out',
    )
  }
  expect(() => readConfig({ TOLLGATE_REUSE_PORT: 'yes' })).toThrow(
    'TOLLGATE_REUSE_PORT is "yes": it must be on or off',
  )
})

test.each(['1', '4', 'two'])(
  'WORKERS=%s is refused with the names of the settings to use instead',
  (WORKERS) => {
    expect(faultsOf({ WORKERS })[1]).toMatch(
      /^WORKERS is no longer a setting: leave it out\..+TOLLGATE_REUSE_PORT=on.+deploy\/tollgate@\.service.+docs\/scale\.md/,
    )
    expect(faultsOf({ WORKERS: '' })).toEqual([])
  },
)
