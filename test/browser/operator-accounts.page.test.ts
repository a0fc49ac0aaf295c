import { expect } from 'vitest'
import { testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { json } from './stand-in.ts'
import { HELIX, ME } from './stand-in-data.ts'
import { ACCOUNTS } from './stand-in-operator.ts'

/** The list of accounts, sorted. */

testScreens([
  { name: 'op-accounts-sorted', path: 'operator/accounts?sort=-available', text: 'Night Shift' },
])

test('the ID of an account without an email keeps both ends in a narrow column', async ({
  pages,
  server,
}) => {
  const nameless = ACCOUNTS.find(({ email }) => email === null)
  const { page } = await pages.of('laptop')
  await page.goto(`${server.address}/app/operator/accounts`)
  const id = page.locator('td.name .two[title^=acct_]')
  const cut = await id.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
  expect([await id.textContent(), cut]).toEqual([
    `${nameless?.id.slice(0, 9)}…${nameless?.id.slice(-4)}`,
    0,
  ])
})

test('the heads of accounts sort them, in the address and the CSV too', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/accounts?state=active`)
  await page.getByText('Night Shift').first().waitFor()
  const head = page.getByRole('columnheader', { name: 'Available' })
  const csv = page.getByRole('link', { name: 'CSV' })
  const sortIn = (address: string | null) =>
    new URL(address ?? '', server.address).searchParams.get('sort')
  for (const [direction, sort] of [
    ['descending', '-available'],
    ['ascending', 'available'],
    ['none', null],
  ] as const) {
    const asked = page.waitForResponse((answer) =>
      answer
        .url()
        .includes(`/operator/accounts?state=active${sort === null ? '' : `&sort=${sort}`}`),
    )
    await head.getByRole('button').click()
    await asked
    await page.locator(`th[aria-sort="${direction}"]`, { hasText: 'Available' }).waitFor()
    await page.waitForURL((url) => url.searchParams.get('sort') === sort)
    await expect.poll(async () => sortIn(await csv.getAttribute('href'))).toBe(sort)
  }
})

test('after a look at a customer, the page of an operator itself has the menu of operators', async ({
  page,
  server,
}) => {
  const customer = { ...HELIX, id: 'acct_customer', name: 'Customer' }
  server.answer(`/accounts/${customer.id}`, json(customer))
  server.answer(`/operator/accounts/${customer.id}`, json(customer))
  for (const path of [`${customer.id}/keys`, `operator/accounts/${customer.id}/keys`]) {
    await page.goto(`${server.address}/app/${path}`)
    await page.getByRole('button', { name: ME.user.name }).click()
    await page.getByRole('link', { name: 'Password and sessions' }).click()
    await page.getByRole('heading', { level: 1, name: 'Password and sessions' }).waitFor()
    await page.getByRole('complementary', { name: 'Pages' }).getByText('Audit log').waitFor()
    expect(await page.getByRole('navigation', { name: 'Account' }).count()).toBe(0)
  }
})
