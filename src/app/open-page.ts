import { join } from 'node:path'
import type { PageInput } from '../http/page/page-routes.ts'
import { PageSite } from '../http/page/page-site.ts'
import { ModelAccess } from '../journey/gate/caller.ts'
import { Gate, type GateSettings } from '../journey/gate/gate.ts'
import { getPlaygroundKey, getPlaygroundKeyHash, NEW_PLAYGROUND_KEY } from '../ledger/api-keys.ts'
import type { Ledger } from '../ledger/commands.ts'
import type { Outbox } from '../mail/outbox.ts'
import { notFound } from '../operations/not-found.ts'
import { makeLink } from '../people/links.ts'
import { MailDoor } from '../people/mail-door.ts'
import { NewEmails } from '../people/new-email.ts'
import { OutsideDoor } from '../people/outside/outside-door.ts'
import { People } from '../people/people.ts'
import { SignInLog } from '../people/sign-in-log.ts'
import { SignUp } from '../people/sign-up.ts'
import { hasUsers } from '../people/users.ts'
import { ACCOUNTS, API_KEYS } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { systemClock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Config } from './config.ts'
import type { HttpParts } from './serving-parts.ts'
import { outsideProvidersOf } from './settings/page-settings.ts'
import { type Wiring, warning } from './wiring.ts'

/** The folder of the built page. */
export const BUILT_FOLDER = join(import.meta.dirname, '..', '..', 'build', 'web')

/**
 * The limits of a user. Each of many windows of the page that load at once makes a few calls, and then a few in two
 * seconds.
 */
const PAGE_LIMITS: GateSettings = {
  counts: 'user',
  inFlightMax: 16,
  requestsPerMinuteMax: 600,
}

/** The parts of the page; null if it is off. Nothing of it is loaded or opened before its first call. */
export function openPage(
  { config, configured: { mode }, log, clock, ids, passwords, closing }: Wiring,
  {
    store,
    unknownCallers,
    addressOf,
    ledger,
    authenticator,
    pageUrl,
    sellsCredit,
    postLetter,
  }: HttpParts & {
    /** The address of the page in browsers, without `/app`. */
    readonly pageUrl: () => string
    readonly sellsCredit: boolean
    /** Null: no email is sent. */
    readonly postLetter: Outbox['post'] | null
  },
): Omit<PageInput, 'bodyTimeoutMs'> | null {
  if (config.TOLLGATE_PAGE === 'off') return null
  const { db } = store
  const createAccount: Ledger['createAccount'] = (input) => ledger.createAccount(input)
  const isOpen = config.TOLLGATE_SIGN_UP === 'open'
  const signUp = isOpen ? new SignUp({ db, clock, ids, createAccount }) : null
  const people = new People({
    db,
    clock,
    ids,
    passwords,
    joinsFirstAccount: mode === 'simulator',
    signUp,
  })
  const onFailure = warning(log, 'a sign-in could not be recorded in the audit log')
  const signInLog = new SignInLog({ db, clock, ids, onFailure })
  closing.defer(() => signInLog.settled())
  return {
    folder: BUILT_FOLDER,
    people,
    signInLog,
    mailDoor:
      postLetter &&
      new MailDoor({
        db,
        clock,
        ids,
        pageUrl,
        signUp,
        knownBrowsers: people.knownBrowsers,
        post: postLetter,
      }),
    newEmails: postLetter && new NewEmails({ db, clock, ids, pageUrl, post: postLetter }),
    outsideDoor: new OutsideDoor({
      db,
      clock,
      providers: outsideProvidersOf(config),
      onFault: (fault) => log.warn(fault, 'a sign-in at a provider failed'),
    }),
    db,
    site: new PageSite(config.TOLLGATE_PUBLIC_URL),
    mode,
    serviceName: config.TOLLGATE_NAME,
    contact: config.TOLLGATE_CONTACT,
    signUp: config.TOLLGATE_SIGN_UP,
    sellsCredit,
    operatorFactor: config.TOLLGATE_OPERATOR_SECOND_FACTOR,
    unknownCallers,
    gate: new Gate({ clock, settings: PAGE_LIMITS }),
    addressOf,
    clock,
    ids,
    async playgroundCaller(accountId, arrival) {
      const nowMs = clock.nowMs()
      const keyHash = await getPlaygroundKeyHash(accountId, { db, ledger, nowMs })
      if (keyHash === null) throw notFound('account', accountId)
      return authenticator.callerOf(keyHash, arrival)
    },
    async playgroundAccount(accountId, reader) {
      const reads = store.pages(reader)
      const row = await reads
        .selectFrom('accounts')
        .selectAll()
        .where('id', '=', accountId)
        .executeTakeFirst()
      if (row === undefined) throw notFound('account', accountId)
      const stored = await getPlaygroundKey(reads, accountId)
      const models = ModelAccess.of({
        account: { allow: row.models_allow, deny: row.models_deny },
        apiKey: stored && { allow: stored.models_allow, deny: stored.models_deny },
      })
      const apiKey = stored === null ? NEW_PLAYGROUND_KEY : API_KEYS.read(stored)
      return { account: ACCOUNTS.read(row), apiKey, models }
    },
  }
}

/** The link by which a person becomes the first operator; null: there is a user, or the page is off. */
export async function makeSetupLink({
  config,
  server,
}: {
  readonly config: Config
  readonly server: { readonly address: string; readonly store: Store; readonly ids: IdSource }
}): Promise<string | null> {
  const { store, ids, address } = server
  if (config.TOLLGATE_PAGE === 'off' || (await hasUsers(store.db))) return null
  const { text } = await makeLink({ db: store.db, ids, clock: systemClock }, { kind: 'setup' })
  return `${pageAddress({ config, address })}/setup#${text}`
}

/** The address of the page for the people who run the gateway. */
export function pageAddress({
  config,
  address,
}: {
  readonly config: Pick<Config, 'TOLLGATE_PUBLIC_URL'>
  readonly address: string
}): string {
  return `${config.TOLLGATE_PUBLIC_URL ?? reachable(address)}/app`
}

/**
 * The server's address by the name of this machine, which `pageUrlOf` has too: a session that began at 127.0.0.1 would be
 * missing when a payment leads back to localhost. Browsers support passkeys only at host names.
 */
function reachable(address: string): string {
  return address.replace(/^(http:\/\/)(?:0\.0\.0\.0|127\.0\.0\.1|\[::1?\])(?=:|$)/, '$1localhost')
}
