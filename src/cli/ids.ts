import { oneOf } from '../operations/check-input.ts'
import type { IdPrefix } from '../vocabulary/ids.ts'
import { Problem } from '../vocabulary/problem.ts'
import type { CommandContext } from './command-context.ts'
import { LOOK_UPS, type LookUp, NAMED_MAX, type NamedThing } from './names.ts'
import { table } from './table.ts'
import { AmbiguousName, UsageFailure } from './terminal.ts'

interface Kind {
  /** With its article: `an account`. */
  readonly one: string
  /** The command that prints the IDs. */
  readonly listedBy: string
  /** The names that a person can type in place of the ID. */
  readonly names: readonly string[]
}

/** The kinds of IDs that a person types. */
const KINDS = {
  acct: {
    one: 'an account',
    listedBy: 'tollgate account list',
    names: ['external ID', 'name', 'email address'],
  },
  atok: { one: 'an admin token', listedBy: 'tollgate token list', names: ['name'] },
  code: {
    one: 'a credit code',
    listedBy: 'tollgate credit code list',
    names: ['text', 'last characters'],
  },
  hook: { one: 'a webhook', listedBy: 'tollgate webhook list', names: ['address', 'host'] },
  key: { one: 'an API key', listedBy: 'tollgate key list <account>', names: ['shown part'] },
  link: {
    one: 'an open invitation',
    listedBy: 'tollgate user invitations',
    names: ['email address'],
  },
  pur: { one: 'a purchase', listedBy: 'tollgate purchase list', names: [] },
  req: { one: 'a request', listedBy: 'tollgate request list', names: [] },
  user: { one: 'a user', listedBy: 'tollgate user list', names: ['email address'] },
} as const satisfies Partial<Record<IdPrefix, Kind>>

type KindPrefix = keyof typeof KINDS

function isKind(prefix: string): prefix is KindPrefix {
  return Object.hasOwn(KINDS, prefix)
}

type OpenStore = Pick<CommandContext, 'store'>

interface IdArgument {
  readonly flags: string
  readonly words: string
  readonly to: `${'params' | 'query' | 'body'}.${string}`
  readonly find: (text: string, opened: OpenStore) => Promise<string>
}

/**
 * An argument or an option whose value is a thing with an ID. By position: the kind, its flags, such as `<account>`, and
 * its field.
 */
export function idArgument(prefix: KindPrefix, flags: string, to: IdArgument['to']): IdArgument {
  const noun = nounOf(prefix)
  // A person has no "its".
  const whose = prefix === 'user' ? `the ${noun}'s` : `the ${noun}: its`
  return {
    flags,
    words: `${whose} ${acceptedNames(prefix)}, ${prefix}_…`,
    to,
    find: (text, opened) => findId(prefix, text, opened),
  }
}

// The shape that `createIdSource` gives IDs: a name is not mistaken for one.
const WHOLE_ID = /^[a-z]+_[\da-z]{26}$/

// Keys, admin tokens and secrets of webhooks, which no message repeats. The shown part of a key has an ellipsis.
const SECRET = /^(?:sk-|tollgate-admin-|whsec_)[^…]*$/

/**
 * The ID of the only thing of a kind that a text names. An ID is returned as it is, known or not. By position: the kind,
 * the typed text, and the open store with whether revoked and deleted things count although others have the name. Throws
 * AmbiguousName, UsageFailure, and Problem `not_found`.
 */
export async function findId(
  prefix: KindPrefix,
  text: string,
  { store, alsoEnded = false }: OpenStore & { readonly alsoEnded?: boolean },
): Promise<string> {
  // Keyboards have no ellipsis.
  const typed = prefix === 'key' ? text.trim().replace('...', '…') : text.trim()
  const isOwn = typed.startsWith(`${prefix}_`)
  if (isOwn && WHOLE_ID.test(typed)) return typed
  const lookUp = lookUpOf(prefix)
  const isName = lookUp !== null && typed !== '' && !SECRET.test(typed)
  const all = isName ? await lookUp(store.db, typed) : []
  const live = all.filter(({ isEnded }) => !isEnded)
  const named = alsoEnded || live.length === 0 ? all : live
  const [only, ...others] = named
  if (only === undefined) return isOwn ? typed : refuseUnnamed(prefix, { typed, isName })
  if (others.length > 0) throw ambiguous(prefix, { typed, named })
  return only.id
}

/** The IDs of several API keys, comma-separated; deleted keys count too. By position: the typed text, and the open store. */
export async function findKeyIds(text: string, opened: OpenStore): Promise<string> {
  const found: string[] = []
  for (const part of text.split(',')) {
    found.push(await findId('key', part, { ...opened, alsoEnded: true }))
  }
  return found.join()
}

function lookUpOf(prefix: KindPrefix): LookUp | null {
  return prefix === 'pur' || prefix === 'req' ? null : LOOK_UPS[prefix]
}

function refuseUnnamed(
  prefix: KindPrefix,
  { typed, isName }: { readonly typed: string; readonly isName: boolean },
): never {
  const { one, listedBy, names } = KINDS[prefix]
  const noun = nounOf(prefix)
  const shown = `\`${listedBy}\` shows the ${noun}s`
  const given = /^([a-z]+)_/.exec(typed)?.[1] ?? ''
  // An external ID may begin like the ID of another kind.
  const isOther = isKind(given) && (prefix !== 'acct' || WHOLE_ID.test(typed))
  if (!isName || isOther) {
    const other = isOther ? `, not the ID of ${KINDS[given].one}` : ''
    throw new UsageFailure(
      `must be the ${acceptedNames(prefix)} of ${one}, ${prefix}_…${other}: ${shownPartOf(typed) ?? shown}`,
    )
  }
  // The text of a code is worth money.
  const named =
    prefix === 'code' ? 'this text or these last characters' : `the ${oneOf(names)} "${typed}"`
  const found =
    prefix === 'acct'
      ? `\`${listedBy} --search "${typed}"\` looks for a part of a name or address`
      : shown
  const unfound =
    prefix === 'key'
      ? '. Names of keys select nothing: type the ID, key_…, or the shown part, such as sk-tollgate-bsE…WJpk'
      : ''
  throw new Problem('not_found', { message: `No ${noun} has ${named}${unfound}: ${found}.` })
}

/** A note that names the shown part of a key's text; null: the text is not that of a key. */
function shownPartOf(typed: string): string | null {
  const [, start, end] = /^(sk-.+-[\dA-Za-z]{3})[\dA-Za-z]{33,}([\dA-Za-z]{4})$/.exec(typed) ?? []
  return start === undefined ? null : `of this text, it is ${start}…${end}`
}

/** Only the person knows which of them is meant. */
function ambiguous(
  prefix: KindPrefix,
  { typed, named }: { readonly typed: string; readonly named: readonly NamedThing[] },
): AmbiguousName {
  const count = named.length === NAMED_MAX ? `${NAMED_MAX} or more` : String(named.length)
  const headings = Object.keys(named[0]?.cells ?? {})
  const rows = named.map(({ id, cells }) => [id, ...Object.values(cells)])
  const have = `${count} ${nounOf(prefix)}s have the ${oneOf(KINDS[prefix].names)} "${typed}"`
  const ids = named.map(({ id }) => id)
  const listed = table(['ID', ...headings], rows)
  return new AmbiguousName(`${have}: type the ID of one`, { ids, listed })
}

function nounOf(prefix: KindPrefix): string {
  return KINDS[prefix].one.replace(/^an? /, '')
}

/** Such as `external ID, name, email address or ID`. */
function acceptedNames(prefix: KindPrefix): string {
  return oneOf([...KINDS[prefix].names, 'ID'])
}

/** Names the command that lists the IDs or users, for a message about an unknown one; empty: the message is about neither. */
export function findingHint(message: string): string {
  if (/^No user has this email/.test(message)) return ' `tollgate user list` shows the users.'
  const [, prefix = ''] = /has the ID "([a-z]+)_/.exec(message) ?? []
  return isKind(prefix) ? ` \`${KINDS[prefix].listedBy}\` shows the IDs.` : ''
}
