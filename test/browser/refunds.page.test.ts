import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { StripeServer } from '../../src/sale/testing/stripe-server.ts'
import { tollgate } from '../tollgate-process.ts'
import { expectGoodPage, takePicture } from './chromium.ts'
import { servePage, setUp } from './on-gateway.ts'
import { test as inBrowser } from './page-test.ts'

/** A payment by card, its refund and its dispute, on a real gateway: what the buyer and the operator see. */

const WEBHOOK_SECRET = 'whsec_of_a_test'

const test = inBrowser
  // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
  .extend('stripe', async ({}, { onCleanup }) => {
    const stripe = await StripeServer.start({ mode: 'test' })
    onCleanup(() => stripe.close())
    return stripe
  })
  .extend('gateway', async ({ stripe }, { onCleanup }) => {
    const settings = {
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_BASE_URL: stripe.baseUrl,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      TOLLGATE_SELLER_NAME: 'Tidewater Compute',
    }
    const gateway = await servePage(settings, onCleanup)
    // By the name in the setup link, where Stripe leads back to without TOLLGATE_PUBLIC_URL.
    return { ...gateway, address: gateway.address.replace('//127.0.0.1:', '//localhost:') }
  })

test('a purchase, its refund, a dispute and its end are seen by the buyer and the operator alike', async ({
  newPage,
  stripe,
  gateway,
}) => {
  const page = await newPage()
  /** Something happens at Stripe, whose message makes the gateway look. */
  const atStripe = async (act: () => void) => {
    stripe.nowMs = Date.now()
    act()
    const { payload, header } = stripe.message({ secret: WEBHOOK_SECRET })
    const url = `${gateway.address}/v1/credit/webhooks/stripe`
    const headers = { 'stripe-signature': header }
    expect((await fetch(url, { method: 'POST', headers, body: payload })).status).toBe(200)
  }
  stripe.nowMs = Date.now()
  await setUp(page, gateway)
  await page.getByRole('link', { name: 'Credit', exact: true }).click()
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByText('You pay $25.00').waitFor()
  // The test mode of Stripe asks for a card.
  await page.getByText('Play money: no real card is needed, and nothing is charged.').waitFor()
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.waitForURL(`${stripe.baseUrl}/pay/*`)
  const source = String(stripe.sessions[0]?.id)
  // No message comes: the buyer's return makes the gateway look.
  stripe.pay(source)
  const lookUp = page.waitForResponse(/\/purchases\/pur_\w+$/)
  await page.goto(String(stripe.asked['success_url']))
  expect(await (await lookUp).json()).toMatchObject({ state: 'credited' })
  await page.getByText('$25.00 was added').waitFor()
  expect(await page.getByRole('heading', { name: 'Pending purchases' }).count()).toBe(0)
  const account = new URL(page.url()).pathname.split('/')[2] ?? ''
  const show = (path: string) => page.goto(`${gateway.address}/app/${path}`)
  const seesPurchase = async (...texts: readonly string[]) => {
    await show('operator/purchases?list=all')
    for (const text of texts) await page.getByText(text, { exact: true }).waitFor()
  }
  const row = (name: string) =>
    page
      .getByRole('row')
      .filter({ has: page.getByText(name, { exact: true }) })
      .first()

  await atStripe(() => stripe.refund(source, 1_000))
  await seesPurchase('Partly refunded', '$10.00 removed, $15.00 left')
  await show(`${account}/credit`)
  await row('Purchase').getByText('Partly refunded').waitFor()
  await row('Refund').getByText('−\u2060$10.00').filter({ visible: true }).waitFor()
  await row('Refund')
    .getByText(/^pur_\w+$/)
    .filter({ visible: true })
    .waitFor()
  expect(await page.getByText('was added').count()).toBe(0)
  await expectReceipt(page, ['Partly refunded', '−\u2060$10.00', '$15.00'], /^Refund$/)

  const removal = ['credit', 'add', account, '-20', '--reference', 'moved']
  expect(await tollgate(removal, { folder: gateway.folder })).toMatchObject({ code: 0 })
  await atStripe(() => stripe.dispute(source, 'needs_response'))
  await seesPurchase('Disputed', '$25.00 removed, $0.00 left')
  await takePicture(page, 'op-purchases-disputed')
  await show('operator')
  // Ten dollars at the start and fifteen from the purchase: twenty were removed and fifteen are disputed.
  await page.getByText('owes $10.00').first().waitFor()
  await show(`${account}/credit`)
  await page.getByText('This account owes $10.00.').waitFor()
  await row('Purchase').getByText('Disputed').waitFor()
  await expectReceipt(page, ['Disputed', '$0.00'], /^Refund$/, /^Dispute$/)

  await atStripe(() => stripe.dispute(source, 'lost'))
  await seesPurchase('Dispute lost', '$25.00 removed, $0.00 left')
  await show(`${account}/credit`)
  await row('Purchase').getByText('Dispute lost').waitFor()
  await expectReceipt(page, ['Dispute lost', '$0.00'], /^Refund$/, /^Dispute$/)

  await atStripe(() => stripe.dispute(source, 'won'))
  await seesPurchase('Partly refunded', '$10.00 removed, $15.00 left')
  await show(`${account}/credit?list=top-ups`)
  await row('Dispute won').getByText('$15.00').filter({ visible: true }).waitFor()
  // The twenty-five dollars that were there before the operator removed twenty.
  await page.getByText('$35.00 added, $25.00 refunded or disputed, $15.00 returned').waitFor()
  await expectReceipt(page, ['Partly refunded', '$15.00'], /^Dispute won$/)
  await expectGoodPage(page)
})

async function expectReceipt(
  page: Page,
  texts: readonly string[],
  ...changes: readonly RegExp[]
): Promise<void> {
  await page.getByRole('link', { name: 'Receipt' }).first().click()
  const receipt = page.getByRole('dialog', { name: 'Receipt' })
  for (const change of changes) await receipt.locator('dt', { hasText: change }).first().waitFor()
  for (const text of texts) await receipt.getByText(text, { exact: true }).first().waitFor()
  await takePicture(page, `receipt-${texts[0]?.toLowerCase().replaceAll(' ', '-')}`)
  await receipt.getByRole('button', { name: 'Close' }).click()
  await receipt.waitFor({ state: 'detached' })
}
