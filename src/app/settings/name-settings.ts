import { OPENROUTER_NAMES } from '../../upstreams/openrouter/rewrites.ts'
import { DEFAULT_PUBLIC_NAMES, type PublicNames } from '../../vocabulary/public-names.ts'
import { matching, type Setting } from './setting.ts'

const NAME = /^[a-z][a-z0-9-]{0,62}$/

function name({ fallback }: { readonly fallback: string }, description: string): Setting<string> {
  const message = `must be lower-case letters, digits and hyphens, such as ${fallback}`
  return matching({ fallback, pattern: NAME, message }, description)
}

// Headers of an answer, and of its connection.
const OWN_HEADERS =
  'cache-control|connection|content-.+|date|keep-alive|request-id|retry-after|set-cookie|te|trailer|transfer-encoding|upgrade|x-request-id|x-should-retry|x-ratelimit-.+'

/** The settings of the names that clients see. */
export const NAME_SETTINGS = {
  TOLLGATE_KEY_TAG: matching(
    {
      fallback: DEFAULT_PUBLIC_NAMES.keyTag,
      pattern: /^[a-z][a-z0-9]{0,15}$/,
      message: 'must be 1 to 16 lower-case letters and digits, such as acme, the first a letter',
    },
    'The `<tag>` of `sk-<tag>-…` in API keys. Keys with another tag are refused, so set it before the first key is created.',
  ),
  TOLLGATE_COST_HEADER: matching(
    {
      fallback: DEFAULT_PUBLIC_NAMES.costHeader,
      pattern: new RegExp(`^(?!(${OWN_HEADERS})$)${NAME.source.slice(1)}`),
      message:
        'must be lower-case letters, digits and hyphens, such as x-service-cost, and not a header that answers already have',
    },
    "Response header with a request's charge in micro-dollars.",
  ),
  TOLLGATE_COMPAT_PREFIX: name(
    { fallback: DEFAULT_PUBLIC_NAMES.compatPrefix },
    "Prefix of the messages format's version, beta and rate-limit headers.",
  ),
  TOLLGATE_FILE_ENGINE: name(
    { fallback: DEFAULT_PUBLIC_NAMES.fileEngine },
    'The name that clients use for the free file-parser engine.',
  ),
  TOLLGATE_UPSTREAM_FILE_ENGINE: name(
    { fallback: OPENROUTER_NAMES.fileEngine },
    'The name that the provider uses for that engine.',
  ),
} as const satisfies Record<string, Setting<unknown>>

/** The deployment's public names, from its settings, and OpenRouter's, which clients may use at any upstream. */
export function publicNamesOf(
  config: {
    readonly [Name in keyof typeof NAME_SETTINGS]: string
  },
): PublicNames {
  return {
    costHeader: config.TOLLGATE_COST_HEADER,
    compatPrefix: config.TOLLGATE_COMPAT_PREFIX,
    keyTag: config.TOLLGATE_KEY_TAG,
    fileEngine: config.TOLLGATE_FILE_ENGINE,
    upstream: { ...OPENROUTER_NAMES, fileEngine: config.TOLLGATE_UPSTREAM_FILE_ENGINE },
  }
}
