import { expect, test } from 'vitest'
import { startMailbox } from '../../src/mail/testing/mailbox.ts'
import { startWorld, type World } from '../world.ts'
import { ADA, Browser, errorOf, inviteGuest, setUpOperator } from './page-client.ts'

const ORIGIN = { origin: 'https://gate.example.com' }

/** Ada, who has proved the address by the code of an email. */
async function enterByMail(world: World, text: () => Promise<string>): Promise<Browser> {
  await setUpOperator(world, ORIGIN)
  const browser = new Browser(world, ORIGIN)
  const { json } = await browser.post('auth/mail/sign-in', { email: ADA.email })
  const code = /^(\d{6})$/m.exec(await text())?.[1] ?? ''
  await browser.post('auth/code', { ticket: json['ticket'], code })
  return browser
}

test('an owner gets an email when a key has used nine tenths of its limit, and sees it on the page', async () => {
  const box = await startMailbox()
  const world = await startWorld({
    settings: {
      SMTP_URL: box.url,
      MAIL_FROM: 'Gate <gate@example.com>',
      TOLLGATE_PUBLIC_URL: 'https://gate.example.com',
    },
  })
  const owner = await enterByMail(world, async () => (await box.mail(0)).text)
  const made = await owner.post('operator/own-accounts', { name: 'Ada’s', email: null })
  const path = `accounts/${made.json['id']}`
  const { json: apiKey } = await owner.post(`${path}/keys`, {
    name: 'nightly',
    credit_limit: 1_000,
  })
  const { db } = world.gateway.store
  // As if requests had cost it.
  await db
    .updateTable('api_keys')
    .set({ spend_micros: 900 })
    .where('id', '=', String(apiKey['id']))
    .execute()

  const { to, text } = await box.mail(1)
  expect(to).toEqual([ADA.email])
  expect(text).toContain('The key "nightly" of the account "Ada’s" has spent $0.0009')
  expect(text).toContain(`https://gate.example.com/app/${made.json['id']}/keys`)
  const { json } = await owner.get(`${path}/overview`)
  expect(json['attention']).toContainEqual(
    expect.objectContaining({ kind: 'key_limit', name: 'nightly', remaining: 100 }),
  )
  await db.updateTable('api_keys').set({ spend_micros: 0 }).execute()
  await world.close()
  await box.close()
})

test('each user turns their own alert emails off and on', async () => {
  const world = await startWorld()
  const owner = await setUpOperator(world)
  const { id: accountId } = await world.account()
  const eve = await inviteGuest(world, { email: 'eve@example.org', accountId, role: 'owner' })
  const off = await owner.post('auth/alert-mails', { on: false })
  expect([off.httpStatus, off.json]).toEqual([200, { object: 'alert_mails', on: false }])
  expect((await owner.get('me')).json).toMatchObject({ user: { alert_mails: false } })
  expect((await eve.get('me')).json).toMatchObject({
    user: { alert_mails: true, email_vouched_for: false },
  })
  await owner.post('auth/alert-mails', { on: true })
  expect((await owner.get('me')).json).toMatchObject({
    user: { alert_mails: true, email_verified: false, email_vouched_for: true },
  })
  expect(errorOf(await owner.post('auth/alert-mails', { on: 'no' }))).toMatchObject({
    httpStatus: 400,
    param: 'on',
  })
  expect((await new Browser(world).post('auth/alert-mails', { on: false })).httpStatus).toBe(401)
  await world.close()
})
