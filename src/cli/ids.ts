import type { IdPrefix } from '../vocabulary/ids.ts'
import { UsageFailure } from './terminal.ts'

interface Kind {
  /** With its article: `an account`. */
  readonly one: string
  /** The command that prints the IDs. */
  readonly listedBy: string
}

/** The kinds of IDs that a person types. */
const KINDS = {
  acct: { one: 'an account', listedBy: 'tollgate account list' },
  atok: { one: 'an admin token', listedBy: 'tollgate token list' },
  code: { one: 'a credit code', listedBy: 'tollgate credit code list' },
  hook: { one: 'a webhook', listedBy: 'tollgate webhook list' },
  key: { one: 'an API key', listedBy: 'tollgate key list <account>' },
  pur: { one: 'a purchase', listedBy: 'tollgate purchase list' },
  req: { one: 'a request', listedBy: 'tollgate request list' },
  user: { one: 'a user', listedBy: 'tollgate user list' },
} as const satisfies Partial<Record<IdPrefix, Kind>>

type KindPrefix = keyof typeof KINDS

function isKind(prefix: string): prefix is KindPrefix {
  return Object.hasOwn(KINDS, prefix)
}

interface IdArgument {
  readonly flags: string
  readonly words: string
  readonly to: `params.${string}`
  readonly read: (text: string) => string
}

/** An argument that is an ID. By position: the kind, its name in the help, such as `<account>`, and its field. */
export function idArgument(prefix: KindPrefix, flags: string, to: IdArgument['to']): IdArgument {
  const words = `the ID of ${KINDS[prefix].one.replace(/^an? /, 'the ')}, ${prefix}_…`
  return { flags, words, to, read: (text) => readId(prefix, text) }
}

/** Reads the ID of a thing. By position: its kind, and the typed text. */
export function readId(prefix: KindPrefix, text: string): string {
  if (text.startsWith(`${prefix}_`)) return text
  const { one, listedBy } = KINDS[prefix]
  // The text itself may be a key, which no message repeats.
  const given = text.split('_')[0] ?? ''
  const found = isKind(given) ? `, not of ${KINDS[given].one}` : ''
  throw new UsageFailure(
    `must be the ID of ${one}, which begins with ${prefix}_${found}: \`${listedBy}\` shows it`,
  )
}

/** Reads IDs of one kind, comma-separated. By position: the kind, and the typed text. */
export function readIds(prefix: KindPrefix, text: string): string {
  return text
    .split(',')
    .map((each) => readId(prefix, each.trim()))
    .join()
}

/** Names the command that lists the IDs or users, for a message about an unknown one; empty: the message is about neither. */
export function findingHint(message: string): string {
  if (/^No user has (?:this|the) email/.test(message))
    return ' `tollgate user list` shows the users.'
  const [, prefix = ''] = /has the ID "([a-z]+)_/.exec(message) ?? []
  return isKind(prefix) ? ` \`${KINDS[prefix].listedBy}\` shows the IDs.` : ''
}
