import { expect } from 'vitest'
import {
  expectFits,
  expectGoodPage,
  expectReadable,
  expectUsable,
  openPage,
  openWindow,
  takePicture,
} from './chromium.ts'
import { test } from './on-gateway.ts'

/** `/docs` in a browser: at the address of one operation, in both themes, on a desk and on a phone. */

test('an endpoint opens at its own address, in the fonts of the page, and every width and theme can read it', async ({
  browser,
  gateway,
}) => {
  for (const width of ['desk', 'phone'] as const) {
    await using window = await openWindow(browser, { width, theme: 'light' })
    const { page, complaints } = await openPage(window)
    await page.goto(`${gateway.address}/docs/createKey`)
    await expect
      .poll(() => page.title())
      .toBe('POST /v1/admin/accounts/{account_id}/keys · tollgate API')
    const place = page.locator('#createKey')
    await expect
      .poll(() => place.evaluate((at) => at.getBoundingClientRect().top))
      .toBeLessThan(100)
    await page.evaluate(() => document.fonts.ready)
    const loaded = await page.evaluate(() =>
      [...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family),
    )
    expect(loaded.map((family) => family.replaceAll('"', '')).sort()).toEqual([
      'Inter',
      'JetBrains Mono',
    ])
    await takePicture(page, `reference-${width}-light`)
    await expectFits(page)
    // A phone has the same colours, on thousands of elements.
    if (width === 'desk') await expectGoodPage(page)
    else await expectUsable(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await takePicture(page, `reference-${width}-dark`)
    if (width === 'desk') await expectReadable(page)
    expect(complaints).toEqual([])
  }
})

test('a link to another place changes the address, and Back returns, without loading the page again', async ({
  browser,
  gateway,
}) => {
  await using window = await openWindow(browser, { width: 'desk', theme: 'light' })
  const { page } = await openPage(window)
  await page.goto(`${gateway.address}/docs`)
  await page.locator('nav a[href="/docs/create_chat"]').click()
  await page.waitForURL((url) => url.pathname === '/docs/create_chat')
  const kept = await page.evaluateHandle(() => document.body)
  await page.locator('nav a[href="/docs#errors"]').click()
  await page.waitForURL(/\/docs#errors$/)
  await page.goBack()
  await expect.poll(() => page.title()).toBe('POST /v1/chat/completions · tollgate API')
  expect(await page.evaluate((body) => body === document.body, kept)).toBe(true)
})

test('the button of a sample, also by its key, copies the whole sample and says so', async ({
  browser,
  gateway,
}) => {
  await using window = await openWindow(browser, { width: 'desk', theme: 'light' })
  await window.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { page } = await openPage(window)
  await page.goto(`${gateway.address}/docs/create_chat`)
  const button = page.getByRole('button', { name: 'Copy the example of create_chat' })
  await button.press('Enter')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toBe(await page.locator('#create_chat pre').textContent())
  expect(copied).toMatch(/^curl "\$GATEWAY\/v1\/chat\/completions"/)
  await button.waitFor()
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Copy')
  await page.getByRole('button', { name: 'Copy the variables' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const variables = await page.evaluate(() => navigator.clipboard.readText())
  expect(variables).toContain(`export GATEWAY=${gateway.address}\n`)
})
