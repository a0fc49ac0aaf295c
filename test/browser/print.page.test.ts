import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test } from './page-test.ts'
import { json } from './stand-in.ts'
import { STATEMENT } from './stand-in-credit.ts'
import { HELIX } from './stand-in-data.ts'
import { BOUGHT_ID } from './stand-in-sale.ts'

/** Pages on paper. */

async function countPages(page: Page): Promise<number> {
  const pdf = await page.pdf({ format: 'A4' })
  return pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0
}

test('a receipt ends with what was paid, as dark as its value, and is printed on one page, however long the page below it is', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${HELIX.id}/credit?receipt=${BOUGHT_ID}`)
  await page.getByText('R-2026-0118').waitFor()
  await page.getByText('invoice-1042').first().waitFor()
  const paid = page.locator('dialog .tot > *')
  expect(await paid.allTextContents()).toEqual(['Paid', '$31.24'])
  const colors = await paid.evaluateAll((parts) =>
    parts.map((part) => getComputedStyle(part).color),
  )
  expect(new Set(colors).size).toBe(1)
  expect(await countPages(page)).toBe(1)
})

test('a page that fills no sheet is printed on one', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/members`)
  await page.getByText('noor@helix.example').filter({ visible: true }).waitFor()
  expect(await countPages(page)).toBe(1)
})

test('a statement ends on its last sheet', async ({ page, server }) => {
  server.answer('/statement', json({ ...STATEMENT, lines: STATEMENT.lines.slice(0, 3) }))
  await page.goto(`${server.address}/app/${HELIX.id}/credit`)
  await page.getByRole('table').getByText('Today').first().waitFor()
  // The balance and its chart have the first one.
  expect(await countPages(page)).toBe(2)
})
