import { HANG_LIMITS } from '../../../test/hang-limits.ts'
import type { Upstream } from '../upstream.ts'
import type { UpstreamSettings, UpstreamTimeouts } from '../upstream-settings.ts'

/** Time limits that no test waits for. */
export const PATIENT_TIMEOUTS: UpstreamTimeouts = {
  connectTimeoutMs: HANG_LIMITS.testTimeout,
  headersTimeoutMs: HANG_LIMITS.testTimeout,
  stallTimeoutMs: HANG_LIMITS.testTimeout,
  totalTimeoutMs: HANG_LIMITS.testTimeout,
  imageTimeoutMs: HANG_LIMITS.testTimeout,
  readOnTimeoutMs: HANG_LIMITS.testTimeout,
  queueTimeoutMs: HANG_LIMITS.testTimeout,
}

/** An upstream at this address, with nothing set that need not be. */
export function upstreamSettings(
  settings: Pick<UpstreamSettings, 'baseUrl'> & Partial<UpstreamSettings>,
): UpstreamSettings {
  return {
    name: 'openrouter',
    dialect: 'openrouter',
    apiKey: 'key',
    apiKeyVariable: 'UPSTREAM_API_KEY',
    headers: [],
    formats: null,
    only: null,
    except: [],
    models: [],
    inFlightMax: null,
    readOn: false,
    timeouts: PATIENT_TIMEOUTS,
    ...settings,
  }
}

/** The rules for bodies at an upstream whose operator has set none. */
export const NO_RULES: Upstream['bodyRules'] = {
  vouched: new Set(),
  saltsCache: false,
  leavesOut: new Set(),
}
