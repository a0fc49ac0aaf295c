import { expect } from 'vitest'
import { expectGoodPage } from './chromium.ts'
import { test } from './page-test.ts'
import { EMPTY, json } from './stand-in.ts'
import { HELIX, listOf } from './stand-in-data.ts'
import { ACCOUNT_ACTIONS } from './stand-in-desk.ts'

/** The changes by operators that the owners of an account read. */

const MEMBERS_PATH = `/app/${HELIX.id}/members`
const ACTIONS_CALL = `accounts/${HELIX.id}/actions`

test('the changes by operators are listed below the members, in words, and older ones when asked for', async ({
  page,
  server,
}) => {
  const [newest, ...older] = ACCOUNT_ACTIONS
  const first = listOf([newest], 'older')
  server.answer('/actions', {
    kind: 'by',
    of: (query) => (query.has('cursor') ? listOf(older) : first),
  })
  await page.goto(`${server.address}${MEMBERS_PATH}`)
  const rows = page.getByRole('table', { name: 'Changes by operators' }).locator('tbody tr')
  await page.getByText('Operators run this service.').waitFor()
  await rows.getByText('Paid credit · Reference: invoice-1042').waitFor()
  await page.getByRole('button', { name: 'Older changes' }).click()
  await rows.getByText('Limit added: $50.00').waitFor()
  expect(await rows.locator('b').allTextContents()).toEqual([
    'Credit added',
    'Key “laptop” changed',
    'Account suspended',
  ])
  expect(await rows.getByText('Note added: Invoice 7 is late.').count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Older changes' }).count()).toBe(0)
  await expectGoodPage(page)
})

test('an account that no operator changed says so', async ({ page, server }) => {
  server.answer('/actions', json(EMPTY))
  await page.goto(`${server.address}${MEMBERS_PATH}`)
  const card = page.getByRole('region', { name: 'Changes by operators' })
  await card.getByText('No changes recorded yet.').waitFor()
  await expectGoodPage(page)
})

test('neither other screens nor the operators’ tab of members read the changes by operators', async ({
  page,
  server,
}) => {
  for (const path of [`/app/${HELIX.id}`, `/app/operator/accounts/${HELIX.id}/members`]) {
    await page.goto(`${server.address}${path}`)
    await page.waitForFunction(() => document.querySelector('main .grey') === null)
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  await page.getByText('jonas@helix.example').waitFor()
  expect(server.asked.filter((call) => call.includes(ACTIONS_CALL))).toEqual([])
})
