import type {
  ConfiguredUpstreams,
  UpstreamSettings,
  UpstreamTimeouts,
} from '../upstreams/upstream-settings.ts'
import type { Config } from './config.ts'

/** The dialect, and so the name, of an upstream whose settings name none. */
const USUAL_DIALECT = 'openrouter'

/** The upstreams of the settings; null: none is configured, and the simulator answers. */
export async function configuredUpstreams(config: Config): Promise<ConfiguredUpstreams | null> {
  const { UPSTREAM_BASE_URL: baseUrl, UPSTREAM_API_KEY: apiKey } = config
  if (baseUrl === null) return null
  return oneUpstream(config, { mode: 'live', baseUrl, apiKey })
}

interface OneUpstream {
  readonly mode: ConfiguredUpstreams['mode']
  readonly baseUrl: string
  readonly apiKey: string | null
}

/** One upstream without settings of its own. */
export function oneUpstream(
  config: Config,
  { mode, baseUrl, apiKey }: OneUpstream,
): ConfiguredUpstreams {
  const upstream: UpstreamSettings = {
    name: USUAL_DIALECT,
    dialect: USUAL_DIALECT,
    baseUrl,
    apiKey,
    headers: [],
    formats: null,
    only: null,
    except: [],
    models: [],
    inFlightMax: null,
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
    queueTimeoutMs: 30_000,
  }
}
