import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { createMadeSqliteFile } from '../../src/store/testing/test-databases.ts'
import { dateOf, monthStart } from '../../src/vocabulary/date-range.ts'
import { timeOfId } from '../../src/vocabulary/ids.ts'
import { money } from '../../web/format/money.ts'
import { microsOf, setUpOperator } from '../page/page-client.ts'
import { startWorld, type World } from '../world.ts'
import { openWindow } from './chromium.ts'
import { test } from './page-test.ts'

/** The figures that a page shows for the range in its address: the name of the range, the charge and the requests. */
async function shownSums(page: Page) {
  const figure = (label: RegExp) => page.locator('.stat').filter({ hasText: label }).locator('b')
  await figure(/^Requests/).waitFor()
  return {
    range: await page.getByRole('button', { name: 'Date range' }).textContent(),
    charge: await figure(/^Spend/).textContent(),
    requests: await figure(/^Requests/).textContent(),
  }
}

/** The charge and the requests of the lines of a CSV, in exact dollars. */
async function csvSums(page: Page) {
  const path = (await page.getByRole('link', { name: 'CSV' }).getAttribute('href')) ?? ''
  const text = await (await page.request.get(new URL(path, page.url()).href)).text()
  const [head = [], ...lines] = text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(','))
  const sum = (name: string, of: (cell: string) => number) =>
    lines
      .filter(([first]) => first !== 'total')
      .reduce((all, cells) => all + of(cells[head.indexOf(name)] ?? ''), 0)
  return { chargeMicros: sum('charge', microsOf), requests: sum('requests', Number) }
}

test('last month has the sums of its requests by its address, by one click and in the CSV', async ({
  browser,
}) => {
  const database = await createMadeSqliteFile()
  const start = (clock: { nowMs: () => number }) =>
    startWorld({ settings: { DATABASE_URL: database.url }, clock })
  const endMs = monthStart(Date.now())
  const fromMs = monthStart(Date.now(), -1)
  let world: World = await start({ nowMs: Date.now })
  const account = await world.account()
  // One more request at each side of both ends of the month.
  for (const [place, atMs] of [fromMs - 1, fromMs, endMs - 1, endMs].entries()) {
    await world.close()
    world = await start({ nowMs: () => atMs })
    for (let count = 0; count <= place; count++) await (await world.chat(account.apiKey)).text()
    await world.gateway.settled()
  }
  await world.close()
  world = await start({ nowMs: Date.now })
  const { requests } = await listRequests(world.gateway.store.db, { limit: 100 })
  const own = requests.map((row) => ({ ...row, atMs: timeOfId(row.id) ?? 0 }))
  const ofMonth = own.filter(({ atMs }) => atMs >= fromMs && atMs < endMs)
  const chargeMicros = ofMonth.reduce((all, row) => all + row.backedChargeMicros, 0)
  const shown = { charge: money(chargeMicros), requests: '5' }
  const exact = { chargeMicros, requests: 5 }
  const operator = await setUpOperator(world)
  const window = await openWindow(browser, { width: 'desk', theme: 'light' })
  const cookies = [...operator.cookies].map(([name, value]) => ({
    name,
    value,
    url: world.url('/'),
  }))
  await window.addCookies(cookies)
  const page = await window.newPage()
  const range = new Date(fromMs).toLocaleDateString('en-GB', {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  for (const path of [`${account.id}/usage`, 'operator/usage']) {
    const address = world.url(`/app/${path}`)
    await page.goto(`${address}?from=${dateOf(fromMs)}&to=${dateOf(endMs - 1)}`)
    expect([path, await shownSums(page)]).toEqual([
      path,
      { range: `Date range: ${range}`, ...shown },
    ])
    expect([path, await csvSums(page)]).toEqual([path, exact])
    await page.goto(address)
    await page.getByRole('button', { name: 'Date range' }).click()
    await page.getByRole('button', { name: 'Last month' }).click()
    await page.getByRole('button', { name: `Date range: ${range}` }).waitFor()
    await page.locator('.stat b', { hasText: /^5$/ }).waitFor()
    expect([path, await shownSums(page)]).toEqual([
      path,
      { range: `Date range: ${range}`, ...shown },
    ])
    expect([path, await csvSums(page)]).toEqual([path, exact])
  }
  await window.close()
  await world.close()
  await database.remove()
})
