import { expect } from 'vitest'
import { expectFits } from './chromium.ts'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import { HELIX, listOf } from './stand-in-data.ts'
import { HELD, REVERSED } from './stand-in-sale.ts'

/** Purchases, for operators: each screen with its states, and the decisions. */

const PATH = 'operator/purchases'
const [FIRST] = HELD

const SCREENS: readonly Screen[] = [
  { name: 'op-purchases', path: PATH, text: /asked for \$900\.00, paid \$890\.00/ },
  { name: 'op-purchases-all', path: `${PATH}?list=all`, text: 'Too small' },
  ...answeredScreens({ path: PATH, pathEnd: '/operator/purchases' }, [
    ['op-purchases-empty', json(EMPTY), 'No purchases yet'],
    ['op-purchases-error', down, 'The purchases could not be loaded.'],
    ['op-purchases-loading', silent, 'Purchases'],
  ]),
  ...answeredScreens({ path: `${PATH}?list=all`, pathEnd: '/operator/purchases' }, [
    ['op-purchases-none', json(EMPTY), 'No purchases yet'],
  ]),
  ...answeredScreens({ path: `${PATH}?list=reversed`, pathEnd: '/operator/purchases' }, [
    ['op-purchases-reversed', json(listOf(REVERSED)), '$8.00 removed, $17.00 left'],
    ['op-purchases-not-reversed', json(EMPTY), 'No refunds or disputes'],
  ]),
  {
    name: 'op-purchases-stale',
    path: PATH,
    async act(page, server) {
      await page.getByText('On hold').first().waitFor()
      server.answer('/operator/purchases', down)
      await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'The store is busy.',
  },
  {
    name: 'op-purchase-credit',
    path: PATH,
    act: press('Approve $900.00 of Helix Lab'),
    text: /Helix Lab has \$184.27 available now, and \$1,084.27 then\./,
  },
  {
    name: 'op-purchase-dismiss',
    path: PATH,
    act: press('Dismiss $900.00 of Helix Lab'),
    text: /No credit is added for it\./,
  },
]

testScreens(SCREENS)

test('Purchases begins with those on hold, else with all, and shows where a payment is refunded', async ({
  page,
  server,
}) => {
  const list = (name: string) => page.getByRole('button', { name, exact: true, pressed: true })
  await page.goto(`${server.address}/app/${PATH}`)
  await list('On hold').waitFor()
  const howToRefund = page.getByText('To refund a card payment, use its payment ID')
  await howToRefund.waitFor()
  await page.getByText(`paid as ${FIRST?.payment_ref}`).waitFor()
  server.answer('/operator/purchases', json(EMPTY))
  await page.reload()
  await list('All').waitFor()
  await page.getByRole('button', { name: 'On hold', exact: true }).click()
  await page.getByText('No purchases on hold.').waitFor()
  expect(await howToRefund.count()).toBe(0)
})

test('a purchase that is approved first pays the debt of its account', async ({ page, server }) => {
  const backed = { balance: -4_200_000, held: 0, available: 0 }
  const account = { ...HELIX, credit: { ...HELIX.credit, backed } }
  server.answer(`/operator/accounts/${HELIX.id}`, json(account))
  await page.goto(`${server.address}/app/${PATH}`)
  await press('Approve $900.00 of Helix Lab')(page)
  await page.getByText('Helix Lab has $0.00 available now, and $895.80 then.').waitFor()
})

test('the ID of a purchase is on one line, however wide the window is', async ({
  page,
  server,
}) => {
  server.answer('/operator/purchases', json(listOf([...HELD, ...REVERSED])))
  await page.goto(`${server.address}/app/${PATH}?list=all`)
  const ids = page.locator('td .mono', { hasText: /^pur_/ })
  await ids.first().waitFor()
  for (const width of [360, 640, 641, 960, 961, 1024, 1200, 1201, 1279, 1280, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    const lines = await ids.evaluateAll((all) => all.map((one) => one.getClientRects().length))
    expect([width, lines]).toEqual([width, Array(HELD.length + REVERSED.length).fill(1)])
    await expectFits(page)
  }
})

test('a purchase is dismissed with a note after the password is entered, and can be credited with the keyboard alone', async ({
  page,
  server,
}) => {
  const signInAgain = { error: { message: 'Sign in again.', code: 'sign_in_again', param: null } }
  server.answer('/dismiss', { ...json(signInAgain), httpStatus: 403 })
  server.answer('/auth/confirm', json({ object: 'confirmed' }))
  server.answer('POST /credit', json({ object: 'purchase' }))
  await page.goto(`${server.address}/app/${PATH}`)
  await page.getByRole('button', { name: 'Dismiss $900.00 of Helix Lab' }).click()
  await page.getByLabel('Reason').fill('paid back on 21 November')
  await page.getByRole('dialog').getByRole('button', { name: 'Dismiss' }).click()
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse battery')
  server.answer('/dismiss', json({ object: 'purchase' }))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Approve $900.00 of Helix Lab' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Helix Lab has').waitFor()
  await page.getByRole('button', { name: 'Add $900.00' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').first().waitFor({ state: 'detached' })
  const dismissal = `POST operator/purchases/${FIRST?.id}/dismiss`
  expect(server.asked.filter((call) => call.startsWith('POST'))).toEqual([
    dismissal,
    'POST auth/confirm',
    dismissal,
    `POST operator/purchases/${FIRST?.id}/credit`,
  ])
})
