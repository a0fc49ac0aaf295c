import { beforeEach, describe, expect, test } from 'vitest'
import type { Letter } from '../mail/letter.ts'
import { USERS } from '../store/people-tables.ts'
import { lockWaits } from '../store/testing/lock-waits.ts'
import { MADE_DATABASES, type TestDatabase } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { MailDoor } from './mail-door.ts'
import { NewEmails } from './new-email.ts'
import { ADA, IDS, Place, VISITOR } from './testing/place.ts'
import { getUser, lockPassword, updateUser } from './users.ts'

const NEW = 'ada@new.example'
const LAPSED = expect.objectContaining({ code: 'invalid_link' })

let place: Place
let letters: Letter[]

async function open(create: () => Promise<TestDatabase>): Promise<void> {
  letters = []
  place = await Place.on(create)
}

const mailParts = () => ({
  db: place.store.db,
  clock: systemClock,
  ids: IDS,
  pageUrl: () => 'https://gate.example.com',
  post: (letter: Letter) => void letters.push(letter),
})

/** The text of the link in the newest letter. */
const linkText = () => /#([\w-]+)/.exec(letters.at(-1)?.text ?? '')?.[1] ?? ''

/** Ada's change to the new address, with its link asked for. */
async function beginChange(): Promise<() => Promise<string>> {
  const newEmails = new NewEmails(mailParts())
  await newEmails.ask(place.ada.user, { email: NEW, address: VISITOR.address })
  const text = linkText()
  return () => newEmails.confirm(text, place.ada.user)
}

/** A door at which something happens once, after the user of an address was looked up. */
function doorDuring(run: () => Promise<unknown>): MailDoor {
  let next: typeof run | null = run
  return new MailDoor({
    ...mailParts(),
    signUp: null,
    knownBrowsers: {
      async isOf() {
        const now = next
        next = null
        await now?.()
        return false
      },
    },
  })
}

const asking = { ...VISITOR, email: ADA.email }

describe.each(MADE_DATABASES)('on $engine', ({ create }) => {
  beforeEach(() => open(create))

  test('a link and its code that the earlier address asks for while the change is confirmed are of no user', async () => {
    const confirm = await beginChange()
    await doorDuring(confirm).askSignIn(asking)
    expect(letters.map(({ to }) => to)).toEqual([NEW, ADA.email])
    const links = await place.store.db.selectFrom('links').selectAll().execute()
    const open = links.filter(({ kind, used_at_ms }) => kind === 'sign_in' && used_at_ms === null)
    expect(open).toMatchObject([{ user_id: null, ticket_hash: expect.any(String) }])
  })

  test('a link that the earlier address asks for while the change is confirmed sets no password', async () => {
    const confirm = await beginChange()
    await doorDuring(confirm).askReset(asking)
    expect(letters.map(({ to }) => to)).toEqual([NEW, ADA.email])
    const links = place.store.db.selectFrom('links').selectAll().where('kind', '=', 'reset')
    expect(await links.execute()).toMatchObject([{ user_id: null }])
  })
})

describe('on PostgreSQL', () => {
  beforeEach(async () => {
    const postgres = MADE_DATABASES.find(({ engine }) => engine === 'PostgreSQL')
    if (postgres === undefined) throw new Error('there is no PostgreSQL')
    await open(postgres.create)
  })

  test('of two changes to one address at the same time, the later one is refused and changes nothing', async () => {
    const confirm = await beginChange()
    const late = await place.store.db.transaction().execute(async (trx) => {
      const bob = { ...USERS.start, id: IDS.next('user'), name: 'Bob', email: NEW, createdAtMs: 0 }
      await trx.insertInto('users').values(USERS.record(bob)).execute()
      // It sees no user with the address, and waits for whether there is to be one.
      const refused = expect(confirm()).rejects.toEqual(LAPSED)
      await lockWaits(place.store.db, 1)
      return { refused }
    })
    await late.refused
    const ada = await getUser(place.store.db, place.ada.user.id)
    expect(ada?.email).toBe(ADA.email)
    const links = place.store.db.selectFrom('links').select('used_at_ms')
    expect(await links.where('kind', '=', 'new_email').execute()).toEqual([{ used_at_ms: null }])
  })

  test('a link for a newcomer to an address does not sign in the user who had it since and is changing to another', async () => {
    const confirm = await beginChange()
    const signUp = { isOpen: async () => true }
    const knownBrowsers = { isOf: async () => false }
    const door = new MailDoor({ ...mailParts(), signUp, knownBrowsers })
    await door.askSignIn({ ...VISITOR, email: NEW })
    const newcomers = linkText()
    await confirm()
    const { id: userId } = place.ada.user
    const late = await place.store.db.transaction().execute(async (trx) => {
      await lockPassword(trx, userId)
      const refused = expect(place.people.signInByLink(newcomers, VISITOR)).rejects.toEqual(LAPSED)
      await lockWaits(place.store.db, 1)
      await updateUser(trx, userId, { email: 'ada@third.example' })
      return { refused }
    })
    await late.refused
    expect(await place.sessionIds()).toHaveLength(1)
  })
})
