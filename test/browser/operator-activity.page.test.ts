import { expect } from 'vitest'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { ACCOUNTS, NAMED_REQUESTS } from './stand-in-operator.ts'

/** The requests of all accounts, for operators. */

const ACTIVITY = 'operator/activity'
const NIGHT_SHIFT = ACCOUNTS[1]
const FINAL = NAMED_REQUESTS[4]

const SCREENS: readonly Screen[] = [
  { name: 'op-activity', path: ACTIVITY, text: 'Night Shift' },
  {
    name: 'op-activity-open',
    path: `${ACTIVITY}?request=${FINAL?.id}`,
    act: (page) => page.getByText('Generation ID').waitFor(),
    text: 'Provider cost',
  },
  {
    name: 'op-activity-account',
    path: `${ACTIVITY}?account=${NIGHT_SHIFT?.id}&endpoint=chat&tag=nightly&range=30d`,
    text: 'so far, back to',
  },
  {
    name: 'op-activity-none',
    path: `${ACTIVITY}?account=${NIGHT_SHIFT?.id}`,
    before: (server) => server.answer('/operator/requests', json(EMPTY)),
    text: 'No requests match these filters.',
  },
  {
    name: 'op-activity-empty',
    path: ACTIVITY,
    before: (server) => server.answer('/operator/requests', json(EMPTY)),
    text: 'Requests appear here as soon as they start.',
  },
  {
    name: 'op-activity-error',
    path: ACTIVITY,
    before: (server) => server.answer('/operator/requests', down),
    text: 'The requests could not be loaded.',
  },
]

testScreens(SCREENS)

test('an operator reads the requests of all accounts, and of the one that is picked', async ({
  page,
  server,
}) => {
  const asked = (path: string) => server.asked.filter((call) => call.includes(path))
  await page.goto(`${server.address}/app/operator`)
  await page.getByRole('link', { name: 'Activity', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
  await page.getByRole('columnheader', { name: 'Account' }).waitFor()
  expect(await page.getByRole('button', { name: 'Key', exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Night Shift' }).click()
  await page.waitForURL(`${server.address}/app/${ACTIVITY}?account=${NIGHT_SHIFT?.id}`)
  await expect.poll(() => asked('operator/requests?').at(-1)).toMatch(`account=${NIGHT_SHIFT?.id}`)
  await expect
    .poll(() => asked('operator/requests/summary').at(-1))
    .toMatch(`account=${NIGHT_SHIFT?.id}`)
  await page.getByRole('button', { name: 'Key', exact: true }).waitFor()
  const csv = await page.getByRole('link', { name: 'CSV' }).getAttribute('href')
  expect(csv).toMatch(/^\/app\/api\/operator\/requests\.csv\?/)
  expect(csv).toMatch(`account=${NIGHT_SHIFT?.id}`)
  // No call names an account that is not there, and of all accounts no request is read as a member of one.
  expect(asked(' accounts/').filter((call) => /accounts\/(\?|$|.*\/requests)/.test(call))).toEqual(
    [],
  )
})

test('the counts of all accounts are not read with each poll', async ({ page, server }) => {
  const asked = (path: string) => server.asked.filter((call) => call.includes(path)).length
  await page.goto(`${server.address}/app/${ACTIVITY}`)
  await page.getByText('charged').waitFor()
  await expect.poll(() => asked('operator/requests?')).toBeGreaterThan(4)
  expect(asked('operator/requests/summary')).toBeLessThanOrEqual(2)
})

test('an open request names its account and leads there', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${ACTIVITY}?request=${FINAL?.id}`)
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByRole('link', { name: FINAL?.account_name ?? '' }).click()
  await page.waitForURL(`${server.address}/app/operator/accounts/${FINAL?.account_id}`)
})

test('a column of usage and margin opens the requests of its day', async ({ page, server }) => {
  await page.goto(`${server.address}/app/operator/usage?by=model`)
  await page.getByRole('slider', { name: 'Charged by day' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/operator\/activity\?from=2026-11-21&to=2026-11-21$/)
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
})
