/** A mail server, and how it is reached. */
export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** `implicit`: from the first byte on. `required`: by STARTTLS, or nothing is sent. `off`: never. */
  readonly tls: 'implicit' | 'required' | 'off'
  /** Null: the server takes email without a sign-in. */
  readonly login: { readonly user: string; readonly password: string } | null
}

/** The sender of emails. */
export interface Sender {
  /** Null: only the address. */
  readonly name: string | null
  readonly address: string
}

const IMPLICIT_PORT = 465
const SUBMISSION_PORT = 587

/**
 * Reads `smtps://user:password@host:port` or `smtp://…`. Throws Error with the fault, and never repeats the
 * address, which has the password.
 */
export function parseSmtpUrl(text: string): SmtpAddress {
  const url = URL.canParse(text) ? new URL(text) : null
  const isImplicit = url?.protocol === 'smtps:'
  if (url === null || url.hostname === '' || !(isImplicit || url.protocol === 'smtp:')) {
    throw new Error(
      'must be smtps://user:password@smtp.example.com:465, or smtp://user:password@smtp.example.com:587 with STARTTLS',
    )
  }
  if (!['', '/'].includes(url.pathname) || url.hash !== '') {
    throw new Error('must end with the host or the port; write @ : / of a password as %40 %3A %2F')
  }
  if (!['', '?tls=off'].includes(url.search) || (isImplicit && url.search !== '')) {
    throw new Error('has an unknown option: the only one is ?tls=off, after smtp://')
  }
  const tls = isImplicit ? 'implicit' : url.search === '' ? 'required' : 'off'
  const [user, password] = [decoded(url.username), decoded(url.password)]
  if ((user === '') !== (password === ''))
    throw new Error('needs a user and a password, or neither')
  if (tls === 'off' && user !== '') {
    throw new Error(
      'has a password, which ?tls=off would send without encryption: leave one of them out',
    )
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? (isImplicit ? IMPLICIT_PORT : SUBMISSION_PORT) : Number(url.port),
    tls,
    login: user === '' ? null : { user, password },
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new Error('has a user or a password with a % that is not written as %25', { cause })
  }
}

/** Reads `gate@example.com` or `Name <gate@example.com>`. Throws Error if it is neither. */
export function parseSender(text: string): Sender {
  const [, name = null, inBrackets] = /^([^<>"\\\p{Cc}]{1,80}?) ?<([^<>]+)>$/u.exec(text) ?? []
  const address = inBrackets ?? text
  if (isMailAddress(address)) return { name, address }
  throw new Error(
    'must be an email address, or a name and an address in <>, such as gate@example.com or Example Gate <gate@example.com>',
  )
}

const ADDRESS =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9-]{1,63}$/i

/**
 * Whether a text is one plain address. Quoted local parts, comments and lists, which mail servers read in different
 * ways, are none.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 320 && ADDRESS.test(text)
}
