import { expect } from 'vitest'
import { expectGoodPage, takePicture } from './chromium.ts'
import { test } from './page-test.ts'
import { down, json } from './stand-in.ts'
import { NO_BALANCE, NO_STATEMENT, STATEMENT } from './stand-in-credit.ts'
import { at, HELIX, ME, START, WITH_MAIL } from './stand-in-data.ts'
import { FIRST_OVERVIEW } from './stand-in-overview.ts'
import { BOUGHT_ID, PENDING } from './stand-in-sale.ts'

/** Sentences on Credit about its sale, removals and emails. */

test('Credit says how much was removed, and that credit is not sold if the operator sells none', async ({
  page,
  server,
}) => {
  const lines = STATEMENT.lines.map((one) =>
    one.kind === 'purchase' ? { ...one, kind: 'chargeback', amount: -14_200_000 } : one,
  )
  server.answer('/statement', json({ ...STATEMENT, lines }))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page
    .getByText(
      /spent, \$[\d,.]+ of paid credit added, \$5\.00 of free credit given, \$[\d,.]+ removed$/,
    )
    .waitFor()
  await page.getByRole('button', { name: 'Add credit' }).waitFor()
  expect(await page.getByText('Credit is not sold here').count()).toBe(0)
  server.answer('/me', json({ ...ME, sells_credit: false }))
  const before = server.asked.length
  // A button of the band would lead to a page without anything to buy.
  const backed = { balance: -4_200_000, held: 0, available: 0 }
  const credit = { ...HELIX.credit, backed }
  server.answer(`/accounts/${HELIX.id}`, json({ ...HELIX, credit }))
  await page.reload()
  await page.getByText(/^This account owes/).waitFor()
  expect(await page.getByRole('link', { name: 'Add credit' }).count()).toBe(0)
  await page.getByText('Credit is not sold here: ask your operator.').waitFor()
  expect(server.asked.slice(before)).not.toContain('GET /v1/credit')
})

test('whole cents of an entry have two places, as in the statement, and charges have four', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('credit')}?list=entries`)
  const amountOf = (text: string) =>
    page.getByRole('row').filter({ hasText: text }).first().locator('td.num.hide-s').textContent()
  await page.getByText('invoice-1042').filter({ visible: true }).waitFor()
  expect(await amountOf('invoice-1042')).toBe('+\u2060$150.00')
  expect(await amountOf('Charge')).toMatch(/^−\u2060?\$\d+\.\d{4}$/)
})

test('Credit says that emails are sent only to an owner to whom they are sent', async ({
  page,
  server,
}) => {
  const mailed = page.getByText('You get an email when 75%, 90% and 100% of it is spent.')
  const unconfirmed = { ...ME.user, email_verified: false, email_vouched_for: false }
  const open = async (me: object) => {
    server.answer('/me', json({ ...ME, ...me }))
    await page.goto(`${server.address}/app/${at('credit')}`)
    await page.getByText('At the rate of the last 7 days').waitFor()
  }
  await open({})
  expect(await mailed.count()).toBe(0)
  server.answer('/start', json({ ...WITH_MAIL, signed_in: true }))
  await open({})
  await mailed.waitFor()
  await open({ user: unconfirmed })
  await page.getByText('Emails about credit start once you confirm your email address.').waitFor()
  await open({ user: { ...ME.user, alert_mails: false } })
  await page.getByText('Your emails about credit are off.').waitFor()
  await open({ accounts: [{ ...ME.accounts[0], role: 'member' }] })
  expect(await page.getByText(/emails? (about|when)/i).count()).toBe(0)
})

test('a buyer who has come back from the payment page is not asked to pay again while the payment is checked', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('credit')}?bought=${PENDING[0]?.id}`)
  await page.getByText('Checking the payment').waitFor()
  await page.getByText('Do not pay again.').waitFor()
  expect(await page.getByRole('button', { name: 'Continue payment' }).count()).toBe(0)
})

test('credit that was just added leads to its receipt', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('credit')}?bought=${BOUGHT_ID}`)
  await page
    .getByRole('region', { name: /Credit added|Pending/ })
    .getByText('$25.00 was added')
    .waitFor()
  await page
    .getByRole('listitem')
    .filter({ hasText: '$25.00 was added' })
    .getByRole('link', { name: 'Receipt' })
    .click()
  await page.getByRole('dialog').getByText('R-2026-0118').waitFor()
})

test('the page has the name of the service, and says how to reach its operator', async ({
  page,
  server,
}) => {
  const contact = 'mailto:help@corner.example'
  server.answer('/start', json({ ...START, service_name: 'Corner Models', contact }))
  await page.goto(`${server.address}/app/${at('credit')}?receipt=${BOUGHT_ID}`)
  const receipt = page.getByRole('dialog', { name: 'Invoice' })
  await receipt.getByRole('button', { name: 'Close' }).and(page.locator(':focus')).waitFor()
  await receipt.getByText('To correct this invoice').waitFor()
  expect(await receipt.getByRole('link', { name: 'ask the operator' }).getAttribute('href')).toBe(
    contact,
  )
  expect(await page.title()).toBe('Credit · Corner Models')
  await receipt.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'Corner Models', exact: true }).waitFor()
  await page.getByRole('button', { name: /^Mira Okafor/ }).click()
  expect(await page.getByRole('link', { name: 'Contact Corner Models' }).getAttribute('href')).toBe(
    contact,
  )
  const unsafe = { signed_in: false, secure: false }
  server.answer('/start', json({ ...START, service_name: 'Corner Models', ...unsafe }))
  server.answer('/me', { ...down, httpStatus: 401 })
  await page.goto(`${server.address}/app/sign-in`)
  await page.getByText('Open Corner Models over https').waitFor()
})

test('an owner on a phone reads the buyer of the receipt before paying, and changes the billing details', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/${at('credit')}?open=buy`)
  await page.getByText('The receipt is for Helix Lab GmbH.').waitFor()
  await expectGoodPage(page)
  await takePicture(page, 'credit-buyer')
  await page.getByRole('link', { name: 'Change billing details' }).click()
  const dialog = page.getByRole('dialog', { name: 'Billing details' })
  expect(await dialog.getByLabel('Address').inputValue()).toBe('Kai 3, 20457 Hamburg, Germany')
  await dialog.getByLabel('Tax ID').fill('DE 811 907 301')
  await expectGoodPage(page)
  await takePicture(page, 'credit-billing')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog', { name: 'Add credit' }).waitFor()
  expect(await dialog.count()).toBe(0)
  expect(server.asked).toContain(`POST accounts/${HELIX.id}/billing`)
  // Without a purchase too.
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByRole('button', { name: 'Billing details' }).click()
  await dialog.getByLabel('Tax ID').waitFor()
})

test('the palette finds Credit by “invoice”, and where alerts are turned off', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('alert')
  await page.getByRole('option', { name: /^Profile/ }).waitFor()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('invoice')
  await page.getByRole('option', { name: /^Credit/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/credit/)
})

test('Credit and Overview name free credit next to the paid credit, and Top-ups lists it', async ({
  page,
  server,
}) => {
  const words = page.getByText('and $5.00 of free credit, for open-weight text models only')
  await page.goto(`${server.address}/app/${at('overview')}`)
  await words.waitFor()
  await page.goto(`${server.address}/app/${at('credit?list=top-ups')}`)
  await words.waitFor()
  await page.getByText('Balance at the end of the UTC day, with free credit').waitFor()
  await page.getByRole('table').getByText('Free credit given').waitFor()
  const csv = page.getByRole('link', { name: 'CSV' })
  expect(await csv.getAttribute('href')).toContain(encodeURIComponent('grant'))
})

test('members are not asked to add credit, which only owners can', async ({ page, server }) => {
  const [account] = ME.accounts
  const user = { ...ME.user, is_operator: false }
  server.answer('/me', json({ ...ME, user, accounts: [{ ...account, role: 'member' }] }))
  server.answer('/statement', json(NO_STATEMENT))
  server.answer('/balance', json(NO_BALANCE))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByText('Ask an owner of the account to add credit.').waitFor()
  const attention = [{ kind: 'no_credit', owed: 0 }]
  server.answer('/overview', json({ ...FIRST_OVERVIEW, attention }))
  await page.goto(`${server.address}/app/${at('overview')}`)
  await page.getByText(/^Create a key, put it into/).waitFor()
  await page.getByText(/until credit is added\. Ask an owner of the account/).waitFor()
  const estimate = { object: 'hold_estimate', hold: 2_100_000, available: 1_400_000 }
  server.answer('/playground/estimate', json(estimate))
  await page.goto(`${server.address}/app/${at('playground')}`)
  await page.getByLabel('Message', { exact: true }).fill('Hello')
  await page.getByText('or ask an owner of the account to add credit.').waitFor()
})
