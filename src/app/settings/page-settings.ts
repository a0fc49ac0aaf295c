import type { z } from 'zod'
import { isLoopback } from '../../journey/gate/client-address.ts'
import type { GithubSettings } from '../../people/outside/github-client.ts'
import type { OidcSettings, OutsideClient } from '../../people/outside/outside-client.ts'
import type { OutsideProvider } from '../../people/outside/outside-door.ts'
import { choice, fitting, givenSecret, optional, parsed, type Setting } from './setting.ts'

/** The settings of the page. */
export const PAGE_SETTINGS = {
  TOLLGATE_PAGE: choice(
    { of: ['on', 'off'], fallback: 'on' },
    'Whether the page is served at `/app`: `on` or `off`.',
  ),
  TOLLGATE_NAME: {
    ...optional('The name of your service on the page and in invitations. Unset: `tollgate`.'),
    schema: fitting((text) => text.length <= 40, 'must have at most 40 characters'),
  },
  TOLLGATE_CONTACT: {
    ...optional(
      'Where customers reach you: an email address, or an `https` address. The page links to it in the user menu, on receipts, and where an account is suspended. Unset: the page names no contact.',
    ),
    schema: parsed(contactUrlOf),
  },
  TOLLGATE_SIGN_UP: choice(
    { of: ['invited', 'open'], fallback: 'invited' },
    'Who becomes a user of the page: with `invited`, people with an [invitation](people.md); with `open`, everyone who proves an email address. They get a new account without credit.',
  ),
  TOLLGATE_OPERATOR_SECOND_FACTOR: choice(
    { of: ['optional', 'required'], fallback: 'optional' },
    'Whether operators of the page need a [second factor](people.md#second-factor). With `required`, an operator without one can only open its setup.',
  ),
  TOLLGATE_PUBLIC_URL: {
    ...optional(
      'The address at which browsers reach the page, such as `https://gate.example.com`. Unset: the page works only on this machine, because sessions need TLS or a loopback address.',
    ),
    schema: fitting(
      isPublicUrl,
      'must be an https address, or an http address on loopback, without a path, such as https://gate.example.com',
    ).transform((text) => text && new URL(text).origin),
  },
} as const satisfies Record<string, Setting<unknown>>

/** The link of a contact: `mailto:` for an email address. Throws for any other text. */
function contactUrlOf(text: string): string {
  if (/^[^\s@:?]+@[^\s@:?]+$/.test(text)) return `mailto:${text}`
  if (URL.canParse(text) && new URL(text).protocol === 'https:') return new URL(text).href
  throw new Error(
    'must be an email address or an https address, such as help@example.com or https://example.com/help',
  )
}

function isPublicUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash, username } = new URL(text)
  const isBare = pathname === '/' && search === '' && hash === '' && username === ''
  return isBare && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)))
}

/** The fault of a sign-up that is open to people who can't prove an address. */
export function signUpFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const { TOLLGATE_SIGN_UP: signUp = '' } = env
  const provesAddress = (name: string): boolean => (env[name] ?? '') !== ''
  const ways = ['SMTP_URL', 'OIDC_ISSUER', 'GOOGLE_CLIENT_ID', 'GITHUB_CLIENT_ID']
  if (signUp !== 'open' || ways.some(provesAddress)) return []
  return [
    'TOLLGATE_SIGN_UP is open, but people have no way to prove an email address: set SMTP_URL, or a sign-in provider',
  ]
}

/** The settings of sign-in at providers outside of the gateway. */
export const OUTSIDE_SETTINGS = {
  OIDC_ISSUER: {
    ...optional(
      'The address of an OpenID Connect provider, such as `https://id.example.com/realms/main`; see [people.md](people.md#sign-in-at-another-provider). Unset: no sign-in there.',
    ),
    schema: parsed(providerUrlLike('https://id.example.com')),
  },
  OIDC_CLIENT_ID: optional('The client ID of the gateway at `OIDC_ISSUER`. Needed with it.'),
  OIDC_CLIENT_SECRET: givenSecret('The secret of `OIDC_CLIENT_ID`. Needed with it.'),
  OIDC_CLIENT_AUTH: choice(
    { of: ['post', 'basic'], fallback: 'post' },
    'How the gateway sends `OIDC_CLIENT_SECRET`: `post`, in the body, or `basic`, as `Authorization: Basic`.',
  ),
  OIDC_NAME: optional(
    'The name of `OIDC_ISSUER` on its button, after "Continue with". Unset: its host name.',
  ),
  GOOGLE_CLIENT_ID: optional('The ID of an OAuth client at Google. Unset: no sign-in with Google.'),
  GOOGLE_CLIENT_SECRET: givenSecret('The secret of `GOOGLE_CLIENT_ID`. Needed with it.'),
  GOOGLE_ISSUER: providerUrl(
    { fallback: 'https://accounts.google.com' },
    'The address of Google as an OpenID Connect provider.',
  ),
  GITHUB_CLIENT_ID: optional('The ID of an OAuth app at GitHub. Unset: no sign-in with GitHub.'),
  GITHUB_CLIENT_SECRET: givenSecret('The secret of `GITHUB_CLIENT_ID`. Needed with it.'),
  GITHUB_URL: providerUrl(
    { fallback: 'https://github.com' },
    'The address of GitHub, or of a GitHub Enterprise server, such as `https://github.example.com`.',
  ),
  GITHUB_API_URL: providerUrl(
    { fallback: 'https://api.github.com' },
    'The address of the API of `GITHUB_URL`; for GitHub Enterprise, `https://github.example.com/api/v3`.',
  ),
} as const satisfies Record<string, Setting<unknown>>

type Values = {
  readonly [Name in keyof typeof OUTSIDE_SETTINGS]: z.output<
    (typeof OUTSIDE_SETTINGS)[Name]['schema']
  >
}

function providerUrlLike(example: string): (text: string) => string {
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : null
    const isSecure =
      url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
    if (url !== null && isSecure && url.search === '' && url.hash === '' && url.username === '') {
      return text
    }
    throw new Error(
      `must be an https address, or an http address on loopback, without a query, such as ${example}`,
    )
  }
}

function providerUrl({ fallback }: { readonly fallback: string }, description: string) {
  return {
    schema: parsed(providerUrlLike(fallback)).transform((url) => url ?? fallback),
    fallback,
    description,
    secret: false,
  }
}

/** The settings that belong together. */
const TOGETHER = [
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
  ['GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET'],
  ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'],
] as const

/** The faults of a combination of sign-in providers' settings. */
export function outsideFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  return TOGETHER.flatMap((names) => {
    const isSet = (name: string): boolean => (env[name] ?? '') !== ''
    const missing = names.filter((name) => !isSet(name))
    if (missing.length === 0 || missing.length === names.length) return []
    const set = names.filter(isSet)
    const [all, none] = names.length === 2 ? ['both', 'neither'] : ['all three', 'none']
    return [
      `${set.join(' and ')} ${set.length === 1 ? 'is' : 'are'} set without ${missing.join(' and ')}: set ${all}, or ${none}`,
    ]
  })
}

const TIMEOUT_MS = 10_000

/** The providers that are set, in the order of their buttons. */
export function outsideProvidersOf(config: Values): readonly OutsideProvider[] {
  const { OIDC_ISSUER: issuer, GOOGLE_ISSUER: google } = config
  const oidc = clientOf(config.OIDC_CLIENT_ID, config.OIDC_CLIENT_SECRET)
  const atGoogle = clientOf(config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET)
  const atGithub = clientOf(config.GITHUB_CLIENT_ID, config.GITHUB_CLIENT_SECRET)
  const providers: (OutsideProvider | null | false)[] = [
    issuer !== null &&
      oidc && {
        id: 'oidc',
        name: config.OIDC_NAME ?? new URL(issuer).host,
        open: () =>
          openOidc({
            ...oidc,
            issuer,
            clientAuth: config.OIDC_CLIENT_AUTH,
            // Not every provider takes it.
            asksWhichAccount: false,
          }),
      },
    atGoogle && {
      id: 'google',
      name: 'Google',
      open: () =>
        openOidc({ ...atGoogle, issuer: google, clientAuth: 'post', asksWhichAccount: true }),
    },
    atGithub && {
      id: 'github',
      name: 'GitHub',
      open: () =>
        openGithub({ ...atGithub, url: config.GITHUB_URL, apiUrl: config.GITHUB_API_URL }),
    },
  ]
  return providers.filter((provider) => provider !== null && provider !== false)
}

function clientOf(clientId: string | null, clientSecret: string | null) {
  return clientId === null || clientSecret === null
    ? null
    : { clientId, clientSecret, timeoutMs: TIMEOUT_MS }
}

async function openOidc(settings: OidcSettings): Promise<OutsideClient> {
  const outside = await import('../../people/outside/outside-client.ts')
  return outside.openOidc(settings)
}

async function openGithub(settings: GithubSettings): Promise<OutsideClient> {
  const outside = await import('../../people/outside/github-client.ts')
  return outside.openGithub(settings)
}
