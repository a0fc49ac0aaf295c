import { z } from 'zod'
import { isLoopback } from '../journey/gate/client-address.ts'
import { optional, type Setting } from './setting.ts'

/** The settings of the page. */
export const PAGE_SETTINGS = {
  TOLLGATE_PAGE: {
    schema: z
      .string()
      .default('on')
      .pipe(z.enum(['on', 'off'], { error: 'must be on or off' })),
    fallback: 'on',
    description: 'Whether the page is served at `/app`: `on` or `off`.',
    secret: false,
  },
  TOLLGATE_SIGN_UP: {
    schema: z
      .string()
      .default('invited')
      .pipe(z.enum(['invited', 'open'], { error: 'must be invited or open' })),
    fallback: 'invited',
    description:
      'Who becomes a user of the page: with `invited`, people with an [invitation](people.md); with `open`, everyone who proves an email address. They get a new account without credit.',
    secret: false,
  },
  TOLLGATE_OPERATOR_SECOND_FACTOR: {
    schema: z
      .string()
      .default('optional')
      .pipe(z.enum(['optional', 'required'], { error: 'must be optional or required' })),
    fallback: 'optional',
    description:
      'Whether operators of the page need a [second factor](people.md#second-factor). With `required`, an operator without one can only open its setup.',
    secret: false,
  },
  TOLLGATE_PUBLIC_URL: {
    ...optional(
      'The address at which browsers reach the page, such as `https://gate.example.com`. Unset: the page works only on this machine, because sessions need TLS or a loopback address.',
    ),
    schema: z
      .string()
      .optional()
      .refine(
        (text) => text === undefined || isPublicUrl(text),
        'must be an address without a path, of https, or of http on a loopback address, such as https://gate.example.com',
      )
      .transform((text) => (text === undefined ? null : new URL(text).origin)),
  },
} as const satisfies Record<string, Setting<unknown>>

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
