import { expect, test } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { isRowLocked } from '../store/postgres/postgres-failure.ts'
import { ACCOUNTS } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { databaseOfTest, MADE_DATABASES } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { makeLink } from './links.ts'
import { listInvitations } from './members.ts'
import { IDS } from './testing/place.ts'

const ACCOUNT_ID = 'acct_1'

test.each(MADE_DATABASES)(
  'an account has at most a hundred invitations, although several gateways on $engine send them at the same time',
  async ({ create }) => {
    const { url } = await databaseOfTest(create)
    const stores: Store[] = []
    for (let each = 0; each < 3; each++) stores.push(await openStore({ url }))
    const fields = { id: ACCOUNT_ID, name: 'Acme', createdAtMs: 0 }
    const account = ACCOUNTS.record({ ...ACCOUNTS.start, ...fields })
    await stores[0]?.db.insertInto('accounts').values(account).execute()
    const partsOf = (store: Store | undefined) => {
      if (store === undefined) throw new Error('no store')
      return { db: store.db, clock: systemClock, ids: IDS }
    }
    const invite = (number: number) => {
      const purpose = { kind: 'invitation', email: `guest${number}@example.org` } as const
      const membership = { accountId: ACCOUNT_ID, role: 'member' } as const
      const invitation = { ...purpose, isOperator: false, isBounded: true, membership }
      return makeLink(partsOf(stores[number % stores.length]), invitation)
    }
    for (let number = 0; number < 80; number++) await invite(number)
    // A slow machine has them wait for each other for longer than a statement may.
    const inviteAtLast = (number: number): ReturnType<typeof invite> =>
      invite(number).catch((error) => {
        if (!isRowLocked(error)) throw error
        return inviteAtLast(number)
      })
    const last = Array.from({ length: 50 }, (_, number) => inviteAtLast(80 + number))
    const sent = await Promise.allSettled(last)
    const refusals = sent.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(refusals).toEqual(Array(30).fill('too_many_invitations'))
    const open = await listInvitations(partsOf(stores[0]), { accountId: ACCOUNT_ID })
    expect(open).toHaveLength(100)
    for (const store of stores) await store.close()
  },
)
