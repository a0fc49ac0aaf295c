import { expect } from 'vitest'
import { test } from './page-test.ts'
import { down } from './stand-in.ts'
import { HELIX } from './stand-in-data.ts'

/** The titles of windows, by which people find a tab of the browser. */

const TABS = ['Summary', 'Usage', 'Activity', 'Keys', 'Credit', 'Members', 'Settings']

test('each tab of an account has a title with its own name and the name of the account', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  const tabs = page.getByRole('navigation', { name: HELIX.name })
  for (const tab of TABS) {
    await tabs.getByRole('link', { name: tab }).click()
    await expect.poll(() => page.title()).toBe(`${tab} · ${HELIX.name} · tollgate`)
    await page.reload()
    await tabs.waitFor()
    await expect.poll(() => page.title()).toBe(`${tab} · ${HELIX.name} · tollgate`)
  }
})

test('a page that could not be loaded says so in its title', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/members`)
  await page.getByText('Open invitations').waitFor()
  server.answer('/me', down)
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByText('The page could not be shown.').waitFor()
  expect(await page.title()).toBe('The page could not be shown · tollgate')
})
