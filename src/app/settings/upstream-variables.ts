import { oneOf } from '../../operations/check-input.ts'
import { DIALECTS } from '../../upstreams/dialects.ts'
import { KEY_TEXT, optional, type Setting, withValue } from './setting.ts'

/** The settings of upstreams. */
export const UPSTREAM_VARIABLES = {
  UPSTREAM_BASE_URL: optional(
    "The provider's base address, ending in `/v1` for OpenRouter's layout. Unset: that of `UPSTREAM_DIALECT`. With neither of them nor `TOLLGATE_UPSTREAMS` set, the built-in simulator answers, and all money is play money.",
  ),
  UPSTREAM_API_KEY: { ...optional("The gateway's own key at the provider."), secret: true },
  UPSTREAM_DIALECT: optional(
    'The dialect of the provider: `openrouter`, `openai` or `anthropic`; see [upstreams.md](upstreams.md). Unset: `openrouter`.',
  ),
  TOLLGATE_UPSTREAMS: optional(
    'A YAML file with several upstreams, in place of the three settings above; see [upstreams.md](upstreams.md).',
  ),
} as const satisfies Record<string, Setting<unknown>>

type Environment = Readonly<Record<string, string | undefined>>
type VariableName = 'UPSTREAM_BASE_URL' | 'UPSTREAM_API_KEY' | 'UPSTREAM_DIALECT'

/** Whether these settings name an upstream; else the simulator answers, and money is play money. */
export function namesUpstream(settings: {
  readonly UPSTREAM_BASE_URL?: string | null | undefined
  readonly UPSTREAM_DIALECT?: string | null | undefined
  readonly TOLLGATE_UPSTREAMS?: string | null | undefined
}): boolean {
  const { UPSTREAM_BASE_URL, UPSTREAM_DIALECT, TOLLGATE_UPSTREAMS } = settings
  return Boolean(UPSTREAM_BASE_URL || UPSTREAM_DIALECT || TOLLGATE_UPSTREAMS)
}

/** The faults of upstream settings, each with its remedy. */
export function upstreamFaults(env: Environment): string[] {
  return env['TOLLGATE_UPSTREAMS'] ? fileFaults(env) : oneFaults(env)
}

/** Whether a text is an address below which a provider's paths can be: without a query, and without a password. */
export function isBaseUrl(text: string): boolean {
  const url = URL.parse(text)
  const isBare =
    url !== null && url.search === '' && url.hash === '' && url.username + url.password === ''
  return isBare && /^https?:$/.test(url.protocol)
}

function fileFaults(env: Environment): string[] {
  const names: readonly VariableName[] = [
    'UPSTREAM_BASE_URL',
    'UPSTREAM_API_KEY',
    'UPSTREAM_DIALECT',
  ]
  return names
    .filter((name) => env[name])
    .map(
      (name) =>
        `${name} is set as well as TOLLGATE_UPSTREAMS: write that upstream into the file, and leave ${name} out`,
    )
}

function oneFaults(env: Environment): string[] {
  const { UPSTREAM_BASE_URL: baseUrl = '', UPSTREAM_API_KEY: apiKey = '' } = env
  const { UPSTREAM_DIALECT: dialect = '' } = env
  const faults: string[] = []
  if (apiKey !== '' && !KEY_TEXT.test(apiKey)) {
    faults.push('UPSTREAM_API_KEY has characters that no key has, such as a space: copy it again')
  }
  if (dialect !== '' && !DIALECTS.has(dialect)) {
    const fault = `must be ${oneOf([...DIALECTS.keys()])}; most other vendors speak openai-compatible (docs/upstreams.md)`
    faults.push(`UPSTREAM_DIALECT ${withValue(fault, dialect)}`)
  }
  if (baseUrl === '') {
    if (apiKey !== '' && dialect === '') {
      faults.push(
        'UPSTREAM_API_KEY is set without a provider: set UPSTREAM_DIALECT to openrouter, openai or anthropic, or set UPSTREAM_BASE_URL; without the key, the simulator answers',
      )
    }
    return faults
  }
  const isUsual = dialect === '' || dialect === USUAL_DIALECT
  if (!isBaseUrl(baseUrl) || (isUsual && !/\/v1\/?$/.test(baseUrl))) {
    const fault = isUsual
      ? 'must be an http or https address without a query, ending in /v1, such as https://openrouter.ai/api/v1'
      : 'must be an http or https address without a query, such as https://api.openai.com/v1'
    faults.push(`UPSTREAM_BASE_URL ${withValue(fault, baseUrl)}`)
  }
  if (apiKey === '' && isUsual) {
    faults.push(
      "UPSTREAM_BASE_URL is set without UPSTREAM_API_KEY: set it to the gateway's key at the upstream",
    )
  }
  return faults
}

/** The dialect of an upstream whose settings name none. */
export const USUAL_DIALECT = 'openrouter'
