import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import type { DbWithIds } from '../store/store.ts'
import { MADE_DATABASES } from '../store/testing/test-databases.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createAdminToken, revokeAdminToken } from './admin-tokens.ts'
import { lookAtLink, makeLink } from './links.ts'
import { IDS, Place } from './testing/place.ts'

describe.each(MADE_DATABASES)('on $engine, an admin token that is revoked', ({ create }) => {
  let place: Place
  let parts: DbWithIds

  beforeEach(async () => {
    const database = await create()
    onTestFinished(() => database.remove())
    place = await Place.open(database.url)
    onTestFinished(() => place.close())
    parts = { db: place.store.db, clock: systemClock, ids: IDS }
  })

  const newToken = async (madeBy: string | null) => {
    const token = { name: 'shop', scopes: ['everything'], expiresAtMs: null, madeBy } as const
    return (await createAdminToken(parts, { ...token, by: null })).adminToken.id
  }
  const by = (action: string, id: string | null) => {
    return { id: IDS.next('act'), action, token: { id, name: 'shop' } }
  }
  const invite = async (tokenId: string | null) => {
    const person = { email: 'eve@example.org', isOperator: true, membership: null }
    const action = by('createInvitation', tokenId)
    return (await makeLink(parts, { kind: 'invitation', ...person }, action)).text
  }
  const isOpen = async (kind: 'invitation' | 'reset', text: string) =>
    (await lookAtLink(parts.db, { kind, text, nowMs: Date.now() }))?.isUsable
  const revoke = (adminTokenId: string) =>
    revokeAdminToken(parts, { adminTokenId, by: by('revokeAdminToken', null) })

  test('takes the open links with it that it and its tokens created, and no others', async () => {
    const parent = await newToken(null)
    const child = await newToken(parent)
    const invitations = [
      await invite(parent),
      await invite(child),
      await invite(await newToken(null)),
      await invite(null),
    ]
    const userId = place.ada.user.id
    const reset = await makeLink(parts, { kind: 'reset', userId }, by('createResetLink', child))
    const open = async () => [
      ...(await Promise.all(invitations.map((text) => isOpen('invitation', text)))),
      await isOpen('reset', reset.text),
    ]
    expect(await open()).toEqual([true, true, true, true, true])
    await revoke(parent)
    expect(await open()).toEqual([false, false, true, true, false])
    const [newest] = (await listOperatorActions(parts.db, { limit: 1 })).rows
    const detail = { name: 'shop', revoked_with_it: 1, links_ended: 3 }
    expect(JSON.parse(newest?.detailJson ?? '')).toEqual(detail)
  })

  test('takes links with it that were open although it and its tokens were revoked before', async () => {
    const parent = await newToken(null)
    const child = await newToken(parent)
    const invitations = [await invite(parent), await invite(child)]
    const open = () => Promise.all(invitations.map((text) => isOpen('invitation', text)))
    // As a release did that ended no links.
    await parts.db.updateTable('admin_tokens').set({ revoked_at_ms: 1 }).execute()
    expect(await open()).toEqual([true, true])
    expect(await revoke(parent)).toMatchObject({ revokedIds: [parent] })
    expect(await open()).toEqual([false, false])
    const newestDetail = async () =>
      (await listOperatorActions(parts.db, { limit: 1 })).rows.map(({ id, detailJson }) => {
        return [id, JSON.parse(detailJson ?? '')]
      })
    const recorded = await newestDetail()
    expect(recorded).toEqual([[expect.any(String), { name: 'shop', links_ended: 2 }]])
    await revoke(parent)
    expect(await newestDetail()).toEqual(recorded)
  })

  test('creates no link, even in a process that does not know it yet', async () => {
    const token = await newToken(null)
    await revoke(token)
    await expect(invite(token)).rejects.toMatchObject({ code: 'invalid_admin_token' })
  })
})
