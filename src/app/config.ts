import { existsSync, readFileSync } from 'node:fs'
import type { z } from 'zod'
import { type CatalogSettings, DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { LEDGER_LIMITS_DEFAULT } from '../ledger/ledger.ts'
import type { KeyLimits } from '../operations/operation-parts.ts'
import { parseDatabaseUrl } from '../store/database-url.ts'
import { HOUR_MS, MINUTE_MS } from '../vocabulary/clock.ts'
import { messageOf } from '../vocabulary/message-of.ts'
import { CHAIN_SETTINGS, chainFaults } from './settings/chain-settings.ts'
import { FEE_SETTINGS, LOOKUP_SETTINGS } from './settings/cost-settings.ts'
import { envFileFault } from './settings/env-file.ts'
import { MAIL_SETTINGS, mailFaults } from './settings/mail-settings.ts'
import { NAME_SETTINGS } from './settings/name-settings.ts'
import { misnomerFaults, suggestionFor } from './settings/near-names.ts'
import {
  OUTSIDE_SETTINGS,
  outsideFaults,
  PAGE_SETTINGS,
  signUpFaults,
} from './settings/page-settings.ts'
import { SALE_SETTINGS, saleFaults } from './settings/sale-settings.ts'
import {
  AROUND_FAULTS,
  aroundValue,
  bytes,
  ConfigError,
  choice,
  fitting,
  list,
  matching,
  milliseconds,
  networks,
  optional,
  optionalWholeNumber,
  parsed,
  type Setting,
  secretToken,
  wholeNumber,
  withValue,
} from './settings/setting.ts'
import { TRACE_SETTINGS } from './settings/trace-settings.ts'
import { namesUpstream, UPSTREAM_VARIABLES, upstreamFaults } from './settings/upstream-variables.ts'
import { trustAuthorities } from './trusted-authorities.ts'

function readDatabaseUrl(text: string): string {
  try {
    parseDatabaseUrl(text)
  } catch (error) {
    throw new Error(`cannot be used: ${messageOf(error)}`, { cause: error })
  }
  return text
}

const LISTENING = {
  pattern: /^(?:[A-Za-z0-9._-]+|(?=(?:[^:]*:){2})[0-9A-Fa-f:.]+(?:%[\w.-]+)?)$/,
  message: 'must be an address or a host name without a port, such as 127.0.0.1 or ::',
}

const MIB = 1024 * 1024

/** Every setting that the program reads. A variable that is not here is not read. */
export const SETTINGS = {
  HOST: matching(
    { fallback: '127.0.0.1', ...LISTENING },
    'Address to listen on. `0.0.0.0` listens on every network of the machine.',
  ),
  PORT: wholeNumber(
    { fallback: 8787, min: 0, max: 65_535 },
    'Port to listen on; 0 takes a free one.',
  ),
  TOLLGATE_REUSE_PORT: choice(
    { of: ['on', 'off'], fallback: 'off' },
    'Whether other processes may listen on `PORT` too: `on` or `off`. With `on`, several processes of `tollgate serve` [share one port](scale.md#several-processes-on-one-machine). It needs PostgreSQL, and Linux or FreeBSD.',
  ),
  DATABASE_URL: {
    ...optional(
      'The address of the store: `sqlite:/path/to/file.db` or `postgres://user:password@host:port/database`. Unset: `./data/tollgate.db`, or `./data/simulator.db` while no upstream is configured.',
    ),
    schema: parsed(readDatabaseUrl),
  },
  ...UPSTREAM_VARIABLES,
  ADMIN_API_TOKEN: secretToken(
    'The token that admins send to `/v1/admin` as `Authorization: Bearer`, in addition to those of [`tollgate token create`](admin-tokens.md). Unset: the admin API is off.',
  ),
  METRICS_PORT: optionalWholeNumber(
    { min: 0, max: 65_535 },
    'A separate port for `/metrics`; 0 takes a free one. With neither this nor `METRICS_TOKEN` set, metrics are off.',
  ),
  METRICS_HOST: {
    ...optional('Address to listen on for metrics. Unset: the same as `HOST`.'),
    schema: fitting((text) => LISTENING.pattern.test(text), LISTENING.message),
  },
  METRICS_TOKEN: secretToken(
    'The token that readers of `/metrics` send as `Authorization: Bearer`. Without `METRICS_PORT`, metrics are on `PORT`.',
  ),
  LOG_LEVEL: choice(
    { of: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], fallback: 'info' },
    'The lowest level of log lines that are written.',
  ),
  ...NAME_SETTINGS,
  TOLLGATE_HEADERS_TIMEOUT_MS: milliseconds(
    { fallback: 5 * MINUTE_MS },
    "Maximum wait for the headers of the provider's answer.",
  ),
  TOLLGATE_BODY_STALL_TIMEOUT_MS: milliseconds(
    { fallback: 5 * MINUTE_MS },
    "Maximum silence within the body of the provider's answer.",
  ),
  TOLLGATE_TOTAL_TIMEOUT_MS: milliseconds(
    { fallback: 15 * MINUTE_MS },
    'Maximum time for an answer that is not streamed.',
  ),
  TOLLGATE_IMAGE_TIMEOUT_MS: milliseconds(
    { fallback: 2 * MINUTE_MS },
    'Maximum time for an image, streamed or not, from the moment the request is forwarded.',
  ),
  TOLLGATE_READ_ON_TIMEOUT_MS: milliseconds(
    { fallback: 10_000 },
    'How long the gateway keeps reading a stream that its client left before the headers came, until it has an ID or token counts. At upstreams without look-ups, this also holds for clients that leave later, and it is six times as long while no text has come.',
  ),
  TOLLGATE_CONNECT_TIMEOUT_MS: milliseconds(
    { fallback: 10_000 },
    'Maximum time for opening a connection to the provider.',
  ),
  TOLLGATE_QUEUE_TIMEOUT_MS: milliseconds(
    { fallback: 10_000 },
    'How long a request waits for a place at an upstream with `max_in_flight`. After that it is answered `503`.',
  ),
  TOLLGATE_BODY_READ_TIMEOUT_MS: milliseconds(
    { fallback: 5 * MINUTE_MS },
    "Maximum time for a client's request body to arrive.",
  ),
  TOLLGATE_DRAIN_TIMEOUT_MS: milliseconds(
    { fallback: 15 * MINUTE_MS, min: 0 },
    'How long a stopping server waits for requests in flight.',
  ),
  TOLLGATE_SETTLE_WAIT_MS: milliseconds(
    { fallback: 5_000, min: 0 },
    'How long an answer is held back until its charge is stored, while the store is unavailable. After that the answer is sent and the charge is stored later.',
  ),
  ...LOOKUP_SETTINGS,
  TOLLGATE_CATALOG_REFRESH_MS: milliseconds(
    { fallback: 5 * MINUTE_MS, min: 1_000 },
    'Time between two refreshes of models and prices.',
  ),
  TOLLGATE_ENDPOINTS_TIMEOUT_MS: milliseconds(
    { fallback: 2_000 },
    "How long a model's first request waits for the prices of all its providers. After that, holds use the listed prices until the next refresh.",
  ),
  TOLLGATE_PRICES_STALE_AFTER_MS: milliseconds(
    { fallback: HOUR_MS, max: Number.MAX_SAFE_INTEGER },
    'The age at which prices are too old to run a request.',
  ),
  TOLLGATE_BUFFER_BYTES_MAX: bytes(
    { fallback: 1024 * MIB, min: MIB },
    'Memory for the request bodies, whole answers and events of streams above 256 KB of all requests together; beyond it, `503`, or the end of the stream. Once half of it is used, an account can have an eighth of it (a sixteenth without paid credit), and always one request of the maximum size.',
  ),
  TOLLGATE_ANSWER_BYTES_MAX: bytes(
    { fallback: 128 * MIB, min: MIB },
    'Largest answer that is not streamed.',
  ),
  TOLLGATE_EVENT_BYTES_MAX: bytes(
    { fallback: 64 * MIB, min: MIB },
    'Largest single event of a stream.',
  ),
  TOLLGATE_ACTIVITY_DAYS: optionalWholeNumber(
    { min: 1, max: 36_500, unit: 'days' },
    'How many days a settled request is kept in Activity. Unset: forever. Entries, and requests whose charge is not final, are always kept.',
  ),
  TOLLGATE_MAINTENANCE_POLL_MS: milliseconds(
    { fallback: 5_000, min: 100 },
    'How often a server reads from the store whether maintenance is on. The server that received the change applies it at once.',
  ),
  TOLLGATE_REQUESTS_PER_MINUTE: wholeNumber(
    { fallback: LEDGER_LIMITS_DEFAULT.keyRequestsPerMinuteMax },
    'The most requests in a minute from one API key without its own limit.',
  ),
  TOLLGATE_REQUESTS_PER_MINUTE_UNBACKED: wholeNumber(
    { fallback: LEDGER_LIMITS_DEFAULT.unbackedAccountRequestsPerMinuteMax },
    'The most requests in a minute from all API keys of an account that never had paid credit.',
  ),
  TOLLGATE_REQUESTS_IN_FLIGHT: wholeNumber(
    { fallback: LEDGER_LIMITS_DEFAULT.openHoldsMax },
    'The most requests in flight from one API key without its own limit.',
  ),
  TOLLGATE_KEYS_PER_ACCOUNT: wholeNumber(
    { fallback: 1_000 },
    'The number of API keys in an account, and of API keys that anyone created in it within 24 hours, at which its members can create no more. Operators and admins can.',
  ),
  TOLLGATE_UNKNOWN_KEYS_PER_MINUTE: wholeNumber(
    { fallback: 100 },
    'The most requests in a minute from one client address without a known API key or admin token. A known key is never refused because of its address.',
  ),
  TOLLGATE_IPV6_PREFIX_BITS: wholeNumber(
    { fallback: 64, min: 1, max: 128 },
    'How many bits of an IPv6 address identify a client.',
  ),
  TOLLGATE_TRUSTED_PROXIES: networks(
    'Addresses and networks of proxies, comma-separated, such as `127.0.0.1, 10.0.0.0/8`. The client address is then the right-most address in `x-forwarded-for` that is not a proxy. Unset: the header is ignored.',
  ),
  TOLLGATE_WEBHOOK_NETWORKS: networks(
    'Addresses and networks, comma-separated, such as `10.1.2.0/24`, that [webhooks](webhooks.md) can be sent to although they are not public. Unset: only public addresses.',
  ),
  TOLLGATE_PER_SEARCH_MODELS: list(
    'Model IDs, comma-separated, that bill per search although the catalog does not show it. They are refused.',
  ),
  TOLLGATE_NOT_PER_SEARCH_MODELS: list(
    'Model IDs, comma-separated, that do not bill per search although the catalog suggests that they do.',
  ),
  ...FEE_SETTINGS,
  ...PAGE_SETTINGS,
  ...MAIL_SETTINGS,
  ...OUTSIDE_SETTINGS,
  ...SALE_SETTINGS,
  ...CHAIN_SETTINGS,
  ...TRACE_SETTINGS,
} as const satisfies Record<string, Setting<unknown>>

/** The name of a setting in the environment. */
type SettingName = keyof typeof SETTINGS

/** Every setting by its name, read and checked. */
export type Config = { readonly [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> }

// Clients read their API key from it, often in the shell that a command runs in.
const CLIENTS_KEY = 'TOLLGATE_API_KEY'

/** Reads and checks the whole environment. Throws `ConfigError` that names every fault at once. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = []
  const values: [string, unknown][] = []
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const value = env[name] ?? ''
    const parsed = setting.schema.safeParse(value === '' ? undefined : value)
    const around = aroundValue(value)
    // Most values that can be read are read without what is around them, and a space does no harm in a name.
    const isRead = parsed.success && (parsed.data !== value || around === 'space' || !around)
    if (parsed.success && isRead) values.push([name, parsed.data])
    else if (around !== null) faults.push(`${name} ${AROUND_FAULTS[around]}`)
    else if (!parsed.success) {
      const message = parsed.error.issues.map((issue) => issue.message).join('; ')
      faults.push(`${name} ${setting.secret ? message : withValue(message, env[name])}`)
    }
  }
  for (const name of Object.keys(env)) {
    if (!name.startsWith('TOLLGATE_') || name === CLIENTS_KEY) continue
    if (!Object.hasOwn(SETTINGS, name)) {
      faults.push(`${name} is not a setting${suggestionFor(name, Object.keys(SETTINGS))}`)
    }
  }
  faults.push(
    ...misnomerFaults(env, Object.keys(SETTINGS)),
    ...upstreamFaults(env),
    ...metricsFaults(env),
    ...sharedPortFaults(env),
    ...mailFaults(env),
    ...outsideFaults(env),
    ...signUpFaults(env),
    ...saleFaults(env),
    ...chainFaults(env),
  )
  if (faults.length > 0) {
    throw new ConfigError(
      `the environment cannot be used (docs/config.md has all settings):\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    )
  }
  // Every name of the table is here with the value that its schema parsed, or a fault was thrown.
  return Object.freeze(Object.fromEntries(values)) as Config
}

function metricsFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const { PORT: port = SETTINGS.PORT.fallback, METRICS_PORT: metricsPort = '' } = env
  const isTaken = metricsPort !== '' && metricsPort === port && metricsPort !== '0'
  return isTaken
    ? ['METRICS_PORT is the same as PORT: use another port, or only METRICS_TOKEN']
    : []
}

function sharedPortFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const { TOLLGATE_REUSE_PORT: reusePort = '', DATABASE_URL: databaseUrl = '' } = env
  const faults: string[] = []
  if ((env['WORKERS'] ?? '') !== '') {
    faults.push(
      'WORKERS is no longer a setting: leave it out. For several processes on one port, set TOLLGATE_REUSE_PORT=on and start each separately, as deploy/tollgate@.service does; docs/scale.md says how',
    )
  }
  if (reusePort === 'on' && !/^postgres(ql)?:/i.test(databaseUrl)) {
    faults.push(
      'TOLLGATE_REUSE_PORT=on needs PostgreSQL, because a SQLite store is served by one process: set DATABASE_URL to a PostgreSQL database, or leave TOLLGATE_REUSE_PORT out',
    )
  }
  return faults
}

/** The operator's settings of the catalog. */
export function catalogSettingsOf(config: Config): CatalogSettings {
  return {
    upstream: DEFAULT_CATALOG_SETTINGS.upstream,
    catalogRefreshMs: config.TOLLGATE_CATALOG_REFRESH_MS,
    pricesStaleAfterMs: config.TOLLGATE_PRICES_STALE_AFTER_MS,
    aliases: new Map(),
    pricesListed: config.TOLLGATE_LISTED_PRICES,
    perSearchIdsAdded: new Set(config.TOLLGATE_PER_SEARCH_MODELS),
    perSearchIdsRemoved: new Set(config.TOLLGATE_NOT_PER_SEARCH_MODELS),
    fees: { everyModel: config.TOLLGATE_FEE_BPS, models: config.TOLLGATE_MODEL_FEES_BPS },
  }
}

/**
 * The process's own settings: `.env` of the working directory where there is one, under what the
 * environment already says. Throws `ConfigError`.
 */
export function configFromEnvironment(): Config {
  if (existsSync('.env')) {
    const readByNode = process.env['NODE_EXTRA_CA_CERTS']
    let fault: string | null
    try {
      fault = envFileFault(readFileSync('.env'), Object.keys(SETTINGS))
      process.loadEnvFile('.env')
      readMarkedName()
    } catch (error) {
      throw new ConfigError(
        'the file .env cannot be read: check that it is a file that this user can read',
        { cause: error },
      )
    }
    const named = process.env['NODE_EXTRA_CA_CERTS'] ?? ''
    fault ??= readByNode === undefined && named !== '' ? trustAuthorities(named) : null
    if (fault !== null) throw new ConfigError(fault)
  }
  return readConfig(process.env)
}

/** Reads the first name of a file that an editor began with a byte order mark, which Node takes as part of the name. */
function readMarkedName(): void {
  for (const [name, value] of Object.entries(process.env)) {
    if (!name.startsWith('\uFEFF')) continue
    process.env[name.slice(1)] ??= value
    delete process.env[name]
  }
}

/** The fewest characters of a token, so that it cannot be guessed; the same as for a password of the page. */
const TOKEN_CHARS_MIN = 12

/** A warning for each token that the operator chose and that can be guessed. */
export function shortTokenWarnings(
  config: Pick<Config, 'ADMIN_API_TOKEN' | 'METRICS_TOKEN'>,
): readonly string[] {
  return (['ADMIN_API_TOKEN', 'METRICS_TOKEN'] as const)
    .filter((name) => (config[name]?.length ?? TOKEN_CHARS_MIN) < TOKEN_CHARS_MIN)
    .map(
      (name) =>
        `${name} has fewer than ${TOKEN_CHARS_MIN} characters and can be guessed: set a longer one, such as \`openssl rand -hex 32\` makes`,
    )
}

/** The process's environment, for the secrets that a file of upstreams names. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** How a person types this program: npm names the running script, and `npx` for npx, in a variable. */
export function typedName(): string {
  return process.env['npm_lifecycle_event'] === undefined ? 'tollgate' : 'npx tollgate'
}

/** Whether an upstream is configured; else the simulator answers. */
export function isLive(config: Config): boolean {
  return namesUpstream(config)
}

/** The address of the store: as set, or a file whose name depends on whether money is play. */
export function storeUrlOf(config: Config): string {
  if (config.DATABASE_URL !== null) return config.DATABASE_URL
  return isLive(config) ? 'sqlite:./data/tollgate.db' : 'sqlite:./data/simulator.db'
}

/** The limits of keys without their own. */
export function keyLimitsOf(config: Config): KeyLimits {
  return {
    requestsPerMinuteMax: config.TOLLGATE_REQUESTS_PER_MINUTE,
    inFlightMax: config.TOLLGATE_REQUESTS_IN_FLIGHT,
    accountKeysMax: config.TOLLGATE_KEYS_PER_ACCOUNT,
  }
}

/** The address of the page in browsers, without `/app`: as set, or this machine. */
export function pageUrlOf({
  TOLLGATE_PUBLIC_URL: publicUrl,
  PORT: port,
}: Pick<Config, 'TOLLGATE_PUBLIC_URL' | 'PORT'>): string {
  return publicUrl ?? `http://localhost:${port}`
}
