import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { changeWebhook, createWebhook, deleteWebhook, listWebhooks } from '../webhooks/registry.ts'
import { listFactors } from './factors/own-factors.ts'
import { makeLink } from './links.ts'
import { remove } from './removal.ts'
import { ADA, IDS, VISITOR } from './testing/place.ts'
import { RewoundPlace } from './testing/rewound-place.ts'

const NEW = 'another horse battery'
const REFUSED = expect.objectContaining({ code: 'invalid_sign_in' })
const INVALID_LINK = expect.objectContaining({ code: 'invalid_link' })
const WRONG_CODE = expect.objectContaining({ code: 'invalid_second_factor' })

const world = ofEach(RewoundPlace.open)

const parts = () => ({ db: world.db, clock: systemClock, ids: IDS })

/** Makes a change that two gateways know of, and that the database then loses. */
async function lose<Made>(change: () => Promise<Made>, meanwhile = async () => {}): Promise<Made> {
  await world.keep()
  const made = await change()
  const gateways = [world.gateway(), world.gateway()]
  for (const each of gateways) await each.catchUp()
  expect(world.reports).toEqual([])
  await world.goBack()
  await meanwhile()
  await Promise.all(gateways.map((each) => each.catchUp()))
  expect(world.failures).toEqual([])
  return made
}

/** The second factor is shown in a new session. */
async function showFactor(code: string): Promise<void> {
  const { people } = world.place
  const { sessionToken } = await world.place.signIn(ADA.password)
  const waiting = await people.sessions.findWaiting(sessionToken)
  if (waiting === null) throw new Error('no session waits for a second factor')
  await people.factors.letIn(waiting, { kind: 'code', code })
}

/** Gives Ada an authenticator app. Returns its codes, by how many periods from now. */
async function addApp() {
  const { factorSetup } = world.place.people
  const { secret } = factorSetup.beginApp(world.place.ada.user)
  const app = new TOTP({ secret })
  const codeOf = (periods: number) => app.generate({ timestamp: Date.now() + periods * 30_000 })
  const added = { signedIn: world.place.ada, secret, code: codeOf(-1) }
  const { recoveryCodes } = await factorSetup.addApp(added)
  return { codeOf, recoveryCodes: recoveryCodes ?? [] }
}

async function invite(email: string): Promise<string> {
  const invitation = { kind: 'invitation', email, isOperator: false, membership: null } as const
  return (await makeLink(parts(), invitation)).text
}

const accept = (linkText: string, name: string) =>
  world.place.people.acceptInvitation({ linkText, name, password: ADA.password }, VISITOR)

test('an earlier password, and sessions that began with it, are refused after the database lost the new one, until a link sets another', async () => {
  const { place } = world
  const stolen: string[] = []
  await lose(
    () => place.change(ADA.password, NEW),
    async () => {
      stolen.push((await place.signIn(ADA.password)).sessionToken)
    },
  )
  expect(world.reports).toContain('a new password')
  for (const password of [ADA.password, NEW]) {
    await expect(place.signIn(password)).rejects.toEqual(REFUSED)
  }
  expect(await place.people.sessions.find(stolen[0] ?? '')).toBeNull()
  const { rows: actions } = await listOperatorActions(world.db, { limit: 5 })
  expect(actions).toMatchObject([
    { action: 'endSignIn', targetId: place.ada.user.id, tokenName: 'gateway' },
  ])
  await place.reset(await place.resetLink(), NEW)
  await world.gateway().catchUp()
  await expect(place.signIn(NEW)).resolves.toBeDefined()
})

test('a password that the thief of the earlier one sets before a gateway notices is ended too', async () => {
  const { place } = world
  await lose(
    () => place.change(ADA.password, NEW),
    () => place.change(ADA.password, 'the password of the thief'),
  )
  await expect(place.signIn('the password of the thief')).rejects.toEqual(REFUSED)
})

test('a reset link that was used is refused after the database lost that', async () => {
  const { place } = world
  const link = await place.resetLink()
  await lose(() => place.reset(link, NEW))
  await expect(place.reset(link, 'a third horse battery')).rejects.toEqual(INVALID_LINK)
  await expect(place.signIn(ADA.password)).rejects.toEqual(REFUSED)
})

test('an invitation that was accepted, withdrawn or ended with its sender is refused after the database lost that', async () => {
  const [accepted, withdrawn] = [await invite('bob@example.org'), await invite('eve@example.org')]
  await lose(async () => {
    await accept(accepted, 'Bob')
    await remove(parts(), { email: 'eve@example.org', accountId: null, asOperator: false })
  })
  await expect(accept(accepted, 'Bob')).rejects.toEqual(INVALID_LINK)
  await expect(accept(withdrawn, 'Eve')).rejects.toEqual(INVALID_LINK)
  await expect(accept(await invite('bob@example.org'), 'Bob')).resolves.toBeDefined()
})

test('codes of an authenticator app that was replaced are refused after the database lost the new one', async () => {
  const earlier = await addApp()
  await lose(addApp)
  await expect(showFactor(earlier.codeOf(0))).rejects.toEqual(WRONG_CODE)
  await showFactor(earlier.recoveryCodes[0] ?? '')
})

test('a code of an authenticator app that was used is refused after the database lost that', async () => {
  const { codeOf } = await addApp()
  const code = codeOf(0)
  await lose(() => showFactor(code))
  await expect(showFactor(code)).rejects.toEqual(WRONG_CODE)
  await showFactor(codeOf(1))
})

test.each([
  ['authenticator app', addApp],
  ['passkey', () => world.place.addPasskey()],
] as const)(
  'the password alone lets nobody in after the database lost the only %s, until a link of the operator',
  async (_, add) => {
    const { place } = world
    await lose<unknown>(add)
    const { sessionToken } = await place.signIn(ADA.password)
    expect(await place.people.sessions.find(sessionToken)).toBeNull()
    const made = await place.reset(await place.resetLink(), NEW)
    expect(await place.people.sessions.find(made.sessionToken)).not.toBeNull()
  },
)

test('a second factor that was added and removed again is not asked for', async () => {
  const { place } = world
  await lose(async () => {
    await addApp()
    const [factor] = await listFactors(world.db, place.ada.user.id)
    await place.people.factorSetup.remove(place.ada, String(factor?.id))
  })
  const { sessionToken } = await place.signIn(ADA.password)
  expect(await place.people.sessions.find(sessionToken)).not.toBeNull()
})

test('recovery codes that were used or replaced are refused after the database lost that, and newer ones work', async () => {
  const { place } = world
  const { codeOf, recoveryCodes } = await addApp()
  const [first = '', second = ''] = recoveryCodes
  await lose(() => showFactor(first))
  for (const code of [first, second]) await expect(showFactor(code)).rejects.toEqual(WRONG_CODE)
  await showFactor(codeOf(0))
  const { factorSetup } = place.people
  const [third = ''] = await factorSetup.renewRecoveryCodes(place.ada)
  world.reports.splice(0)
  await lose(() => factorSetup.renewRecoveryCodes(place.ada))
  await expect(showFactor(third)).rejects.toEqual(WRONG_CODE)
  const [fourth = ''] = await factorSetup.renewRecoveryCodes(place.ada)
  await world.gateway().catchUp()
  await showFactor(fourth)
})

test('a webhook that was deleted, disabled or moved gets nothing at its earlier address after the database lost that', async () => {
  const hook = { url: 'https://receiver.example/', events: [], by: null }
  const ids: string[] = []
  for (let made = 0; made < 4; made++) ids.push((await createWebhook(parts(), hook)).id)
  const [deleted = '', disabled = '', moved = '', enabled = ''] = ids
  await changeWebhook(parts(), { webhookId: enabled, disabled: true, by: null })
  await lose(async () => {
    await deleteWebhook(parts(), { webhookId: deleted, by: null })
    await changeWebhook(parts(), { webhookId: disabled, disabled: true, by: null })
    const url = 'https://other.example/'
    await changeWebhook(parts(), { webhookId: moved, url, by: null })
    await changeWebhook(parts(), { webhookId: enabled, disabled: false, by: null })
  })
  // IDs of one millisecond are in no order.
  const states = (await listWebhooks(world.db)).map((webhook) => [webhook.id, webhook.disabled])
  expect(Object.fromEntries(states)).toEqual({ [disabled]: true, [moved]: true, [enabled]: false })
})

test('a second factor is asked for after the database lost that another one took its place', async () => {
  const { place } = world
  const userId = place.ada.user.id
  await place.addApp()
  await lose(async () => {
    await place.addPasskey()
    const app = (await listFactors(world.db, userId)).find(({ kind }) => kind === 'app')
    await place.people.factorSetup.remove(place.ada, app?.id ?? '')
  })
  expect(await listFactors(world.db, userId)).toMatchObject([{ kind: 'app' }])
  await expect(showFactor('123456')).rejects.toEqual(WRONG_CODE)
})

test('no second factor is asked for after the database lost that one was added and removed', async () => {
  const { place } = world
  const userId = place.ada.user.id
  await lose(async () => {
    await place.addPasskey()
    const [passkey] = await listFactors(world.db, userId)
    await place.people.factorSetup.remove(place.ada, passkey?.id ?? '')
  })
  expect(await listFactors(world.db, userId)).toEqual([])
})
