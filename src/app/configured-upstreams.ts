import { DIALECTS, loadDialect } from '../upstreams/dialects.ts'
import type {
  ConfiguredUpstreams,
  UpstreamSettings,
  UpstreamTimeouts,
} from '../upstreams/upstream-settings.ts'
import type { Config } from './config.ts'
import { ConfigError } from './settings/setting.ts'
import { USUAL_DIALECT } from './settings/upstream-variables.ts'

/**
 * The upstreams of the settings; null: none is configured, and the simulator answers. By position: the settings,
 * and the environment that a file's secrets come from. Rejects with `ConfigError`.
 */
export async function configuredUpstreams(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ConfiguredUpstreams | null> {
  const { TOLLGATE_UPSTREAMS: file, UPSTREAM_DIALECT: dialect } = config
  const { UPSTREAM_BASE_URL: baseUrl, UPSTREAM_API_KEY: apiKey } = config
  if (file !== null) {
    // Loaded where there is a file: the reader of YAML is most of it.
    const { readUpstreamsFile } = await import('./settings/upstreams-file.ts')
    return readUpstreamsFile(file, { env, timeouts: timeoutsOf(config), dialects: DIALECTS })
  }
  if (baseUrl === null && dialect === null) return null
  const name = dialect ?? USUAL_DIALECT
  const { baseUrl: vendors } = await loadDialect(name)
  if (vendors === null) {
    throw new ConfigError(
      `UPSTREAM_DIALECT is ${name}, whose servers list no prices: write the upstream with its models and prices into a file, and set TOLLGATE_UPSTREAMS to it in place of UPSTREAM_DIALECT, UPSTREAM_BASE_URL and UPSTREAM_API_KEY`,
    )
  }
  if (dialect === null && baseUrl !== null) await refuseOtherVendor(new URL(baseUrl).host)
  if (apiKey === null) {
    throw new ConfigError("UPSTREAM_API_KEY must be set to the gateway's key at the upstream")
  }
  return oneUpstream(config, { mode: 'live', dialect: name, baseUrl: baseUrl ?? vendors, apiKey })
}

/** An address that is a vendor's own needs that vendor's dialect: with the usual one its models would have no prices. */
async function refuseOtherVendor(host: string): Promise<void> {
  for (const name of DIALECTS.keys()) {
    const { baseUrl } = await loadDialect(name)
    if (baseUrl === null || new URL(baseUrl).host !== host) continue
    if (name === USUAL_DIALECT) return
    throw new ConfigError(
      `UPSTREAM_BASE_URL is the address of a server that speaks ${name}, and UPSTREAM_DIALECT is not set, which means ${USUAL_DIALECT}: set UPSTREAM_DIALECT=${name}`,
    )
  }
}

/**
 * A note about a vendor's key that is set under the vendor's own name, which the gateway does not read; null: no such
 * key is set.
 */
export function unreadKeyNote(env: Readonly<Record<string, string | undefined>>): string | null {
  for (const dialect of DIALECTS.keys()) {
    const name = `${dialect.toUpperCase()}_API_KEY`
    if (env[name]) {
      return `${name} is set, but tollgate does not read it: to use that provider, set UPSTREAM_DIALECT=${dialect} and UPSTREAM_API_KEY to the key (docs/upstreams.md)`
    }
  }
  return null
}

interface OneUpstream {
  readonly mode: ConfiguredUpstreams['mode']
  /** Default {@link USUAL_DIALECT}. */
  readonly dialect?: string
  readonly baseUrl: string
  readonly apiKey: string | null
}

/** One upstream without settings of its own, named as its dialect, or `simulator`. */
export function oneUpstream(
  config: Config,
  { mode, dialect = USUAL_DIALECT, baseUrl, apiKey }: OneUpstream,
): ConfiguredUpstreams {
  const upstream: UpstreamSettings = {
    name: mode === 'simulator' ? 'simulator' : dialect,
    dialect,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    apiKey,
    apiKeyVariable: apiKey === null ? null : 'UPSTREAM_API_KEY',
    headers: [],
    formats: null,
    only: null,
    except: [],
    models: [],
    inFlightMax: null,
    readOn: false,
    timeouts: timeoutsOf(config),
  }
  return { mode, upstreams: [upstream], aliases: new Map() }
}

/** The time limits of an upstream whose settings have none. */
function timeoutsOf(config: Config): UpstreamTimeouts {
  return {
    connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
    headersTimeoutMs: config.TOLLGATE_HEADERS_TIMEOUT_MS,
    stallTimeoutMs: config.TOLLGATE_BODY_STALL_TIMEOUT_MS,
    totalTimeoutMs: config.TOLLGATE_TOTAL_TIMEOUT_MS,
    imageTimeoutMs: config.TOLLGATE_IMAGE_TIMEOUT_MS,
    readOnTimeoutMs: config.TOLLGATE_READ_ON_TIMEOUT_MS,
    queueTimeoutMs: config.TOLLGATE_QUEUE_TIMEOUT_MS,
  }
}
