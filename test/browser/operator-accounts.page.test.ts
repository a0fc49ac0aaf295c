import { expect } from 'vitest'
import { expectFits } from './chromium.ts'
import { testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { EMPTY, json } from './stand-in.ts'
import { HELIX, KEYS, listOf, ME } from './stand-in-data.ts'
import { ACTIONS } from './stand-in-desk.ts'
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

test('on a phone, accounts are filtered by state in a list, on one line with their order', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/accounts`)
  const button = (name: string) =>
    page.getByRole('button', { name, exact: true }).filter({ visible: true })
  const topOf = async (name: string) => (await button(name).boundingBox())?.y
  expect(await topOf('State')).toBe(await topOf('Sort'))
  await button('State').click()
  await button('Failing').click()
  await page.waitForURL(/state=failing/)
  await button('Sort').click()
  await button('Longest without a request').click()
  // A page that is magnified to 400% has this width.
  await page.setViewportSize({ width: 320, height: 640 })
  await expectFits(page)
  await button('State: Failing').click()
  await button('All').click()
  await page.waitForURL((url) => !url.searchParams.has('state'))
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
    await page.getByRole('link', { name: 'Profile' }).click()
    await page.getByRole('heading', { level: 1, name: 'Profile' }).waitFor()
    await page.getByRole('complementary', { name: 'Pages' }).getByText('Audit log').waitFor()
    expect(await page.getByRole('navigation', { name: 'Account' }).count()).toBe(0)
  }
})

test('the band of a suspended account says who suspended it, as the audit log has it, and how many keys are refused', async ({
  page,
  server,
}) => {
  const path = `/operator/accounts/${HELIX.id}`
  const at = '2026-11-20T12:00:00.000Z'
  server.answer(path, json({ ...HELIX, disabled: true, disabled_at: at, disabled_note: 'Unpaid.' }))
  const suspensions = ACTIONS.filter(({ detail }) => detail['disabled'] === true)
  server.answer('/operator/actions', {
    kind: 'by',
    of: (query) => listOf(query.get('since') === at ? suspensions : ACTIONS),
  })
  await page.goto(`${server.address}/app${path}`)
  const band = page.getByRole('region', { name: 'Suspended' })
  const rest = 'are refused; its credit and history are kept. Note for members: “Unpaid.”'
  await band.getByText(`Suspended by Mira Okafor. Requests with its 6 keys ${rest}`).waitFor()
  server.answer('/keys', json(listOf(KEYS, 'next')))
  // A suspension that is older than the log.
  server.answer('/operator/actions', json(EMPTY))
  await page.reload()
  await band.getByText(`Requests with its 6+ keys ${rest}`).waitFor()
  expect(await band.textContent()).not.toContain('Suspended by')
  await band.getByRole('button', { name: 'Resume account' }).click()
  await page.getByText('Its 6+ keys are accepted again at once.').waitFor()
})

test('on a phone, a long name of an account has the whole width, and a short one leaves room for the buttons', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  const path = `/operator/accounts/${HELIX.id}`
  const heading = page.getByRole('heading', { level: 1 })
  const add = page.getByRole('button', { name: 'Add credit' })
  const gap = async (name: string) => {
    server.answer(path, json({ ...HELIX, name }))
    await page.goto(`${server.address}/app${path}`)
    await heading.filter({ hasText: name }).waitFor()
    const [title, button] = [await heading.boundingBox(), await add.boundingBox()]
    return (button?.y ?? 0) - (title?.y ?? 0) - (title?.height ?? 0)
  }
  expect(await gap('Northwind Support')).toBeLessThan(0)
  expect(
    await gap('Brightwater University, Department of Computational Linguistics'),
  ).toBeGreaterThan(0)
  expect((await heading.boundingBox())?.height).toBeLessThan(28 * 3 + 4)
})

test('Back from an account that was just created leads to the list, not to the form', async ({
  page,
  server,
}) => {
  server.answer('POST /operator/accounts', json(HELIX))
  await page.goto(`${server.address}/app/operator/accounts`)
  await page.getByRole('button', { name: 'Create account' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create account' })
  await dialog.getByLabel('Name').fill(HELIX.name)
  await dialog.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL(`${server.address}/app/operator/accounts/${HELIX.id}`)
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor()
  expect(await dialog.count()).toBe(0)
})
