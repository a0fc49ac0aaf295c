import { describe, expect, test } from 'vitest'
import { SETTINGS } from '../config.ts'
import { faultsOf } from '../testing/config-faults.ts'
import { misnomersIn } from './near-names.ts'

const NAMES = Object.keys(SETTINGS)
const refusals = (env: Readonly<Record<string, string>>) => faultsOf(env).slice(1)

describe('a name near that of a setting', () => {
  test.each([
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DB_URL', 'DATABASE_URL'],
    ['TOLLGATE_DATABASE_URL', 'DATABASE_URL'],
    ['ADMIN_TOKEN', 'ADMIN_API_TOKEN'],
    ['ADMIN_KEY', 'ADMIN_API_TOKEN'],
    ['ADMIN_API_KEY', 'ADMIN_API_TOKEN'],
    ['ADMIN_API_TOKENS', 'ADMIN_API_TOKEN'],
    ['METRIC_TOKEN', 'METRICS_TOKEN'],
    ['TOLLGATE_UPSTREAM', 'TOLLGATE_UPSTREAMS'],
    ['TOLLGATE_KEYTAG', 'TOLLGATE_KEY_TAG'],
    ['TRUSTED_PROXIES', 'TOLLGATE_TRUSTED_PROXIES'],
    ['TRUSTED_PROXY', 'TOLLGATE_TRUSTED_PROXIES'],
    ['UPSTREAM_BASEURL', 'UPSTREAM_BASE_URL'],
    ['UPSTREAM_URL', 'UPSTREAM_BASE_URL'],
    ['UPSTREAM_APIKEY', 'UPSTREAM_API_KEY'],
    ['UPSTREAM_TOKEN', 'UPSTREAM_API_KEY'],
    ['SMTP_URI', 'SMTP_URL'],
    ['CHAIN_RPC_URL', 'CHAIN_RPC_URLS'],
    ['LOG_LEVELS', 'LOG_LEVEL'],
    ['database_url', 'DATABASE_URL'],
    ['tollgate_upstreams', 'TOLLGATE_UPSTREAMS'],
    ['ADMIN-API-TOKEN', 'ADMIN_API_TOKEN'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['METRICS_TOKNE', 'METRICS_TOKEN'],
    ['UPSTREAMS', 'TOLLGATE_UPSTREAMS'],
    ['TOLLGATEADMIN_API_TOKEN', 'ADMIN_API_TOKEN'],
  ])('is refused while the right one is unset: %s, %s', (name, rightName) => {
    expect(refusals({ [name]: '1' })).toEqual([
      `${name} is not a setting: did you mean ${rightName}?`,
    ])
  })

  test('of any setting of eight characters or more is found with a letter less, and with one more', () => {
    const near = NAMES.filter(({ length }) => length >= 9).flatMap((name) => [
      [`${name}S`, name],
      [name.slice(0, -1), name],
    ])
    for (const [typed = '', name] of near) {
      if (NAMES.includes(typed)) continue
      const found = misnomersIn({ [typed]: '1' }, NAMES)
      expect(found).toEqual([{ name: typed, rightName: name, isLeftOver: false }])
    }
  })

  test('of any setting of eight characters or more is found in lower case, and with hyphens', () => {
    for (const name of NAMES.filter(({ length }) => length >= 8)) {
      for (const typed of [name.toLowerCase(), name.toLowerCase().replaceAll('_', '-')]) {
        const found = misnomersIn({ [typed]: '1' }, NAMES)
        expect(found).toEqual([{ name: typed, rightName: name, isLeftOver: false }])
      }
    }
  })

  test('is a warning, not a refusal, next to the correct name', () => {
    const env = { DATABASE_URL: 'sqlite:./x.db', DATABASE_URI: 'sqlite:./y.db' }
    expect(refusals(env)).toEqual([])
    expect(misnomersIn(env, NAMES)).toEqual([
      { name: 'DATABASE_URI', rightName: 'DATABASE_URL', isLeftOver: true },
    ])
  })

  test('of an upstream is a warning with a file of upstreams', () => {
    const env = { TOLLGATE_UPSTREAMS: 'upstreams.yaml', UPSTREAM_KEY: 'x' }
    expect(misnomersIn(env, NAMES)).toMatchObject([{ name: 'UPSTREAM_KEY', isLeftOver: true }])
  })
})

test('variables of other programs, and empty ones, are near nothing', () => {
  const others = [
    'POSTGRES_URL POSTGRES_HOST POSTGRES_PORT POSTGRES_USER POSTGRES_PASSWORD PGHOST REDIS_URL',
    'POST HOSTS PORTS WORKER HOSTNAME PUBLIC_URL HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_ENV NODE_OPTIONS',
    'OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY OPENROUTER_API_KEY GITHUB_TOKEN GOOGLE_API_KEY',
    'OTEL_TRACES_EXPORTER OTEL_METRICS_EXPORTER OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    'OTEL_EXPORTER_OTLP_LOGS_HEADERS OTEL_PROPAGATORS OTEL_LOG_LEVEL PATH HOME LANG SHELL USER PWD',
    'http_proxy https_proxy no_proxy all_proxy host port npm_config_loglevel npm_lifecycle_event',
    'KUBERNETES_SERVICE_HOST KUBERNETES_PORT SMTP_HOST SMTP_PORT AWS_SECRET_ACCESS_KEY STRIPE_API_KEY',
  ].flatMap((line) => line.split(' '))
  const env = Object.fromEntries(others.map((name) => [name, 'x']))
  expect(misnomersIn({ ...env, DATABASE_URI: '' }, NAMES)).toEqual([])
})
