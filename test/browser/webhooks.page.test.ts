import { expect } from 'vitest'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import { WEBHOOKS } from './stand-in-operator.ts'

/** Webhooks on the operators' pages: creating them, their messages, and stopping them. */

const [ENABLED, DISABLED] = WEBHOOKS
const LIST = 'operator/webhooks'
const ONE = `${LIST}/${ENABLED?.id}`
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

const SCREENS: readonly Screen[] = [
  { name: 'op-webhooks', path: LIST, text: 'upstream.away, audit.difference' },
  ...answeredScreens({ path: LIST, pathEnd: '/operator/webhooks' }, [
    ['op-webhooks-empty', json(EMPTY), 'No webhooks yet'],
    ['op-webhooks-error', down, 'The webhooks could not be loaded.'],
    ['op-webhooks-loading', silent, 'Webhooks'],
  ]),
  {
    name: 'op-webhooks-stale',
    path: LIST,
    async act(page, server) {
      await page.getByText('upstream.away').waitFor()
      server.answer('/operator/webhooks', down)
      await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'op-webhook-new',
    path: LIST,
    async act(page) {
      await page.getByRole('button', { name: 'Create webhook' }).click()
      await page.getByLabel('Address').fill('https://desk.helix.example/hooks/tollgate')
    },
    text: 'An upstream has listed no models for some time.',
  },
  {
    name: 'op-webhook-made',
    path: LIST,
    before: (server) =>
      server.answer('POST /operator/webhooks', json({ ...ENABLED, secret: SECRET })),
    async act(page) {
      await page.getByRole('button', { name: 'Create webhook' }).click()
      await page.getByLabel('Address').fill('https://desk.helix.example/hooks/tollgate')
      await page.getByRole('dialog').getByRole('button', { name: 'Create webhook' }).click()
    },
    text: 'Copy it now: it is shown only once.',
  },
  { name: 'op-webhook', path: ONE, text: 'did not answer in time' },
  ...answeredScreens({ path: ONE, pathEnd: '/deliveries' }, [
    ['op-webhook-empty', json(EMPTY), 'No messages yet'],
    ['op-webhook-messages-error', down, 'The messages could not be loaded.'],
    ['op-webhook-loading', silent, 'Messages of the last 30 days'],
  ]),
  {
    name: 'op-webhook-error',
    path: ONE,
    before(server) {
      server.answer('/operator/webhooks', down)
      server.answer('/deliveries', down)
    },
    text: 'The webhook could not be loaded.',
  },
  {
    name: 'op-webhook-stale',
    path: ONE,
    async act(page, server) {
      await page.getByText('did not answer in time').waitFor()
      server.answer('/deliveries', down)
      await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'op-health-webhook',
    path: 'operator/audit-log',
    act: (page) => page.getByText('Webhook created').waitFor(),
    text: 'Host: pager.example · Events: upstream.away, audit.difference',
  },
  { name: 'op-webhook-gone', path: `${LIST}/hook_gone`, text: 'Webhook not found' },
  {
    name: 'op-webhook-disable',
    path: ONE,
    act: press('Disable'),
    text: 'Nothing is sent to the webhook until it is enabled again.',
  },
  {
    name: 'op-webhook-delete',
    path: ONE,
    act: press('Delete'),
    text: 'Its secret and the list of its messages are deleted too.',
  },
]

testScreens(SCREENS)

test('the secret of a new webhook is on the page until it is left, and nowhere else', async ({
  ownPage: page,
  server,
}) => {
  server.answer('POST /operator/webhooks', json({ ...ENABLED, secret: SECRET }))
  await page.goto(`${server.address}/app/${LIST}`)
  await page.getByRole('button', { name: 'Create webhook' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Address').fill(ENABLED?.url ?? '')
  await dialog.getByLabel('upstream.away').uncheck()
  await dialog.getByRole('button', { name: 'Create webhook' }).click()
  const secret = page.getByLabel('The new secret')
  expect(await secret.inputValue()).toBe(SECRET)
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
  )
  expect(kept).not.toContain('whsec_')
  await page.getByRole('link', { name: 'Codes' }).first().click()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Codes' }).waitFor()
  await page.goBack()
  await page.getByText('upstream.away, audit.difference').waitFor()
  expect(await secret.count()).toBe(0)
})

test('a webhook is disabled and enabled after a dialog that explains the effect, and tested', async ({
  page,
  server,
}) => {
  for (const webhook of [ENABLED, DISABLED]) {
    server.answer(`PATCH /operator/webhooks/${webhook?.id}`, json(webhook))
  }
  server.answer(`POST /operator/webhooks/${ENABLED?.id}/test`, json({}))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Webhook disabled.').waitFor()
  await page.goto(`${server.address}/app/${LIST}/${DISABLED?.id}`)
  // It is sent nothing, a test neither.
  expect(await page.getByRole('button', { name: 'Send a test' }).isDisabled()).toBe(true)
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
  await page.getByText('Webhook enabled.').waitFor()
  expect(server.asked.filter((call) => !call.startsWith('GET'))).toEqual([
    `POST operator/webhooks/${ENABLED?.id}/test`,
    `PATCH operator/webhooks/${ENABLED?.id}`,
    `PATCH operator/webhooks/${DISABLED?.id}`,
  ])
})

test('a change of the address of a webhook sends no events, which another operator may have changed', async ({
  page,
  server,
}) => {
  server.answer(`PATCH /operator/webhooks/${ENABLED?.id}`, json(ENABLED))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'Change', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Change webhook' })
  await dialog.getByLabel('Address').fill('https://desk.helix.example/other')
  const elsewhere = { ...ENABLED, events: ['balance.low'] }
  server.answer('/operator/webhooks', json({ object: 'list', data: [elsewhere], has_more: false }))
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await page.getByText('for balance.low').waitFor()
  const [sent] = await Promise.all([
    page.waitForRequest((request) => request.method() === 'PATCH'),
    dialog.getByRole('button', { name: 'Save' }).click(),
  ])
  expect(sent.postDataJSON()).toEqual({ url: 'https://desk.helix.example/other' })
  await page.getByText('Webhook changed.').waitFor()
})
