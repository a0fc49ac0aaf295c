import type { Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import { expect } from 'vitest'
import { copyBy } from './chromium.ts'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, silent } from './stand-in.ts'
import {
  BALANCE,
  NO_BALANCE,
  NO_STATEMENT,
  REFUNDED_STATEMENT,
  STATEMENT,
} from './stand-in-credit.ts'
import { at, HELIX, ME } from './stand-in-data.ts'
import {
  BOUGHT_ID,
  begunAt,
  DEPOSIT,
  METHODS,
  OFFERS,
  PENDING,
  PURCHASES,
  QUOTE,
  RECEIPT,
  REFUNDED_RECEIPT,
} from './stand-in-sale.ts'

/** Credit and its sale: each screen and each of its states, and how credit is bought. */

const SCREENS: readonly Screen[] = [
  { name: 'credit', path: at('credit'), text: 'invoice-1042' },
  {
    name: 'credit-day',
    path: at('credit'),
    act: press('Models of Fri 20 Nov'),
    text: 'Corrections and write-offs',
  },
  {
    name: 'credit-top-ups',
    path: `${at('credit')}?list=purchases`,
    text: /^\$250\.00 of paid credit added, \$5\.00 of free credit given$/,
  },
  { name: 'credit-every-entry', path: `${at('credit')}?list=entries`, text: 'welcome' },
  {
    name: 'credit-new',
    path: at('credit'),
    before(server) {
      server.answer('/statement', json(NO_STATEMENT))
      server.answer('/balance', json(NO_BALANCE))
    },
    text: 'No credit yet.',
  },
  ...answeredScreens({ path: at('credit'), pathEnd: '/statement' }, [
    ['credit-no-changes', json(NO_STATEMENT), 'No changes in this period.'],
    ['credit-statement-error', down, 'The statement could not be loaded.'],
    ['credit-loading', silent, 'Statement'],
  ]),
  ...answeredScreens({ path: `${at('credit')}?list=top-ups`, pathEnd: '/statement' }, [
    ['credit-no-top-ups', json(NO_STATEMENT), 'No top-ups in this period.'],
    ['credit-top-ups-refunded', json(REFUNDED_STATEMENT), 'Partly refunded'],
  ]),
  {
    name: 'credit-in-debt',
    path: at('credit'),
    before(server) {
      const [balance, held] = [-4_200_000, BALANCE.unresolved.held]
      const owed = { balance, held, available: 0 }
      const lines = STATEMENT.lines.map((one, place) => (place === 0 ? { ...one, balance } : one))
      const closing = { closing_balance: balance, lines }
      const credit = { ...HELIX.credit, backed: owed }
      server.answer('/statement', json({ ...STATEMENT, ...closing }))
      server.answer('/balance', json({ ...BALANCE, credit, total: owed }))
      server.answer(`/accounts/${HELIX.id}`, json({ ...HELIX, credit }))
    },
    text: '−\u2060$4.20',
  },
  ...answeredScreens({ path: `${at('credit')}?list=entries`, pathEnd: '/entries' }, [
    ['credit-no-entries', json(EMPTY), 'No entries in this period.'],
    ['credit-entries-error', down, 'The entries could not be loaded.'],
  ]),
  {
    name: 'credit-redeem',
    path: `${at('credit')}?open=redeem`,
    text: 'Each code works once. Its credit is paid credit, which does not expire.',
  },
  {
    name: 'credit-redeem-refused',
    path: at('credit'),
    before: (server) => server.answer('/redeem', { ...down, httpStatus: 429 }),
    async act(page) {
      await page.getByRole('button', { name: 'Redeem a code' }).click()
      await page.getByRole('textbox', { name: 'Code' }).fill('AAAAAA-BBBBBB-CCCCCC-DDDDDD')
      await page.getByRole('button', { name: 'Redeem', exact: true }).click()
    },
    text: 'The store is busy.',
  },
  {
    name: 'credit-redeemed',
    path: `${at('credit')}?open=redeem`,
    async act(page) {
      await page.getByRole('textbox', { name: 'Code' }).fill('AAAAAA-BBBBBB-CCCCCC-DDDDDD')
      await page.getByRole('button', { name: 'Redeem', exact: true }).click()
    },
    text: '$25.00 was added',
  },
  ...answeredScreens({ path: at('credit'), pathEnd: '/me' }, [
    [
      'credit-of-member',
      json({ ...ME, accounts: [{ ...ME.accounts[0], role: 'member' }] }),
      'invoice-1042',
    ],
  ]),
  ...answeredScreens({ path: at('credit'), pathEnd: '/balance' }, [
    ['credit-error', down, 'The balance could not be loaded.'],
  ]),
]

const NOTHING_SOLD = json({ ...ME, sells_credit: false })

const buy = `${at('credit')}?open=buy`
const deposit = async (page: Page) => {
  await page.getByRole('button', { name: 'USDC on Base' }).click()
}

const SALE_SCREENS: readonly Screen[] = [
  {
    name: 'credit-nothing-sold',
    path: at('credit'),
    before(server) {
      server.answer('/me', NOTHING_SOLD)
      server.answer('GET /purchases', json({ ...EMPTY, pending: [] }))
    },
    text: 'invoice-1042',
  },
  { name: 'credit-buy', path: buy, text: 'You pay $25.00 and get $25.00 of paid credit' },
  {
    name: 'credit-buy-wrong',
    path: buy,
    act: (page) => page.getByLabel('Amount', { exact: true }).fill('3'),
    text: 'At least $5.00.',
  },
  {
    name: 'credit-buy-refused',
    path: buy,
    before: (server) => server.answer('POST /purchases', { ...down, httpStatus: 429 }),
    act: press('Continue to payment'),
    text: 'The store is busy.',
  },
  ...answeredScreens({ path: buy, pathEnd: '/v1/credit/quote' }, [
    ['credit-buy-no-quote', down, 'The price could not be loaded: The store is busy.'],
  ]),
  {
    name: 'credit-buy-loading',
    path: buy,
    before: (server) => server.answer('/v1/credit', { kind: 'silence' }),
    act: (page) => page.locator('dialog .grey').first().waitFor(),
    text: 'Add credit',
  },
  ...answeredScreens({ path: buy, pathEnd: '/v1/credit' }, [
    ['credit-buy-error', down, 'The ways to pay could not be loaded.'],
  ]),
  {
    name: 'credit-deposit',
    path: buy,
    act: deposit,
    text: '25.00 USDC, for $1.00 of credit',
  },
  {
    name: 'credit-deposit-fee',
    path: buy,
    before(server) {
      const methods = METHODS.map((one) => ({ ...one, fee_bps: 300 }))
      server.answer('/v1/credit', json({ ...OFFERS, methods }))
      const pay = { currency: 'USDC', amount: '1.030928000000000000', units: '1030928000000000000' }
      server.answer('/v1/credit/quote', json({ ...QUOTE, credit: 1_000_000, pay, fee_bps: 300 }))
    },
    act: deposit,
    text: '1.030928 USDC, for $1.00 of credit',
  },
  {
    name: 'credit-deposit-loading',
    path: buy,
    before: (server) => server.answer('POST /purchases', { kind: 'silence' }),
    async act(page) {
      await deposit(page)
      await page.locator('dialog .grey').first().waitFor()
    },
    text: 'Add credit',
  },
  {
    name: 'credit-deposit-error',
    path: buy,
    before: (server) => server.answer('POST /purchases', down),
    act: deposit,
    text: 'The address could not be loaded.',
  },
  {
    name: 'credit-deposit-unavailable',
    path: buy,
    before: (server) =>
      server.answer(
        '/v1/credit',
        json({ ...OFFERS, methods: METHODS.map((one) => ({ ...one, available: false })) }),
      ),
    act: deposit,
    text: 'USDC on Base can’t be used for now.',
  },
  ...answeredScreens({ path: at('credit'), pathEnd: 'GET /purchases' }, [
    ['credit-pending-error', down, 'The pending purchases could not be loaded.'],
  ]),
  {
    name: 'credit-pending-stale',
    path: at('credit'),
    async act(page, server) {
      await page.getByText('Not paid yet').first().waitFor()
      server.answer('GET /purchases', down)
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'credit-continue-refused',
    path: at('credit'),
    before: (server) => server.answer('GET /page', { ...down, httpStatus: 502 }),
    act: press('Continue payment'),
    text: 'The store is busy.',
  },
  {
    name: 'credit-credited',
    path: `${at('credit')}?bought=${BOUGHT_ID}`,
    text: '$25.00 was added',
  },
  { name: 'credit-receipt', path: `${at('credit')}?receipt=${BOUGHT_ID}`, text: 'R-2026-0118' },
  {
    name: 'credit-receipt-loading',
    path: `${at('credit')}?receipt=${BOUGHT_ID}`,
    before: (server) => server.answer('/receipt', { kind: 'silence' }),
    act: (page) => page.locator('dialog .grey').first().waitFor(),
    text: 'Receipt',
  },
  ...answeredScreens({ path: `${at('credit')}?receipt=${BOUGHT_ID}`, pathEnd: '/receipt' }, [
    ['credit-receipt-error', down, 'The receipt could not be loaded.'],
    ['credit-receipt-refunded', json(REFUNDED_RECEIPT), 'Partly refunded'],
  ]),
]

testScreens([...SCREENS, ...SALE_SCREENS])

test.for([
  ['/v1/credit', 'The ways to pay could not be loaded.'],
  ['POST /purchases', 'The address could not be loaded.'],
] as const)('“Add credit” can be closed if %s fails', async ([call, text], { page, server }) => {
  server.answer(call, down)
  await page.goto(`${server.address}/app/${buy}`)
  if (call === 'POST /purchases') await deposit(page)
  await page.getByText(text).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('a receipt is called an invoice only if the seller has a name and a tax ID, and shows the paid amounts', async ({
  page,
  server,
}) => {
  const path = `${server.address}/app/${at('credit')}?receipt=${BOUGHT_ID}`
  await page.goto(path)
  const invoice = page.getByRole('dialog', { name: 'Invoice' })
  for (const text of ['R-2026-0118', 'DE 811 907 301', '$1.25', '$4.99', '$31.24', '$25.00']) {
    await invoice.getByText(text).waitFor()
  }
  server.answer('/receipt', json({ ...RECEIPT, seller: { ...RECEIPT.seller, tax_id: null } }))
  await page.goto(path)
  await page.getByRole('dialog', { name: 'Receipt' }).getByText('R-2026-0118').waitFor()
})

test('a typed amount leads to its payment page, with the keyboard alone', async ({
  page,
  server,
}) => {
  const paid = `${server.address}/app/${at('keys')}`
  server.answer('POST /purchases', json(begunAt(paid)))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByRole('button', { name: 'Add credit' }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Amount', { exact: true }).focus()
  await page.keyboard.press('Control+A')
  await page.keyboard.type('12.50')
  await page.keyboard.press('Enter')
  await page.waitForURL(paid)
  expect(server.asked).toContain(`POST accounts/${HELIX.id}/purchases`)
  expect(server.asked).toContain('GET /v1/credit/quote?method=card&amount=12500000')
})

test('Overview leads owners to the purchase of credit, and only if credit is sold', async ({
  page,
  server,
}) => {
  const add = page.getByRole('link', { name: 'Add credit' })
  const open = async () => {
    await page.goto(`${server.address}/app/${at('overview')}`)
    await page.getByText('Spend by day').waitFor()
  }
  await open()
  await add.click()
  await page.getByRole('button', { name: 'Continue to payment' }).waitFor()
  server.answer('/me', NOTHING_SOLD)
  const before = server.asked.length
  await open()
  expect(await add.count()).toBe(0)
  // A gateway that sells no credit lacks the path, and the browser logs each 404.
  expect(server.asked.slice(before)).not.toContain('GET /v1/credit')
  server.answer('/me', json({ ...ME, accounts: [{ ...ME.accounts[0], role: 'member' }] }))
  await open()
  expect(await add.count()).toBe(0)
})

test('a payment that was left can be continued at its page, with the keyboard, and by owners only', async ({
  page,
  server,
}) => {
  const paid = `${server.address}/app/${at('keys')}`
  server.answer('GET /page', json({ object: 'payment_page', url: paid }))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByRole('button', { name: 'Continue payment' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(paid)
  expect(server.asked).toContain(`GET accounts/${HELIX.id}/purchases/${PENDING[0]?.id}/page`)
  server.answer('/me', json({ ...ME, accounts: [{ ...ME.accounts[0], role: 'member' }] }))
  await page.goto(`${server.address}/app/${at('credit')}`)
  await page.getByText('Not paid yet').waitFor()
  expect(await page.getByRole('button', { name: 'Continue payment' }).count()).toBe(0)
})

test.for([
  ['purchase', { id: BOUGHT_ID }, 'Not paid yet'],
  // It has no ID before its block is final.
  ['deposit', { id: null, state: 'confirming' }, 'Confirming'],
] as const)(
  'the page shows when a pending %s becomes credit, and reloads the balance and the statement',
  async ([, fields, chip], { ownPage: page, server }) => {
    // Both are also read every so often. Here they are not.
    await page.addInitScript(() => {
      const every = window.setInterval
      Object.assign(window, {
        setInterval: (act: () => void, ms: number) => (ms < 15_000 ? every(act, ms) : 0),
      })
    })
    const [first] = PENDING
    server.answer('GET /purchases', json({ ...EMPTY, pending: [{ ...first, ...fields }] }))
    await page.goto(`${server.address}/app/${at('credit')}`)
    await page.getByText(chip).waitFor()
    await page.getByText('invoice-1042').first().waitFor()
    await page.locator('.balance .purses .grey').waitFor({ state: 'detached' })
    expect(await page.getByText('was added').count()).toBe(0)
    const reads = (name: string) => server.asked.filter((one) => one.includes(`/${name}`)).length
    const [balances, statements] = [reads('balance'), reads('statement')]
    server.answer('GET /purchases', json({ ...EMPTY, data: PURCHASES, pending: [] }))
    await page.getByText('$25.00 was added').waitFor()
    await expect.poll(() => reads('balance')).toBeGreaterThan(balances)
    await expect.poll(() => reads('statement')).toBeGreaterThan(statements)
  },
)

test('the whole address is shown, and copied as it is', async ({ ownPage: page, server }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(`${server.address}/app/${buy}`)
  await deposit(page)
  const { address } = DEPOSIT.deposit
  expect(await page.locator('.address').textContent()).toBe(address)
  await copyBy(page, 'Copy the address')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(address)
})

test('the code next to the address is read as the link that wallets open', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${buy}`)
  await deposit(page)
  const { width, data } = await pixelsOf(page)
  expect(decodeQR({ width, height: width, data })).toBe(DEPOSIT.deposit.uri)
})

/** The drawn code, four pixels a module, as a camera would see it. */
async function pixelsOf(page: Page): Promise<{ width: number; data: Uint8Array }> {
  const png = await page.locator('.qr').screenshot()
  const { width, data } = await page.evaluate(async (base64) => {
    const image = new Image()
    image.src = `data:image/png;base64,${base64}`
    await image.decode()
    const side = Math.min(image.width, image.height)
    const canvas = new OffscreenCanvas(side, side)
    const context = canvas.getContext('2d')
    context?.drawImage(image, 0, 0)
    return { width: side, data: [...(context?.getImageData(0, 0, side, side).data ?? [])] }
  }, png.toString('base64'))
  return { width, data: Uint8Array.from(data) }
}
