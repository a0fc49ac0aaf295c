import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { README_PICTURES } from '../readme-picture.ts'
import { openBrowser, openPage, openStillWindow } from './chromium.ts'
import { json, startStandIn } from './stand-in.ts'
import { HELIX, ME } from './stand-in-data.ts'

/**
 * `npm run picture`: writes the pictures of README.md, of the Overview of the made-up account, from the page
 * as it is built.
 */

const ROOT = join(import.meta.dirname, '..', '..')

const browser = await openBrowser()
const server = await startStandIn()
server.answer('/me', json({ ...ME, mode: 'live' }))
for (const theme of ['light', 'dark'] as const) {
  const context = await openStillWindow(browser, { width: 'desk', theme })
  const { page } = await openPage(context)
  const { width, height, paths } = README_PICTURES
  await page.setViewportSize({ width, height })
  await page.goto(`${server.address}/app/${HELIX.id}/overview`)
  await page.locator('.columns path').first().waitFor()
  await page.evaluate(() => document.fonts.ready)
  await writeFile(join(ROOT, paths[theme]), await page.screenshot())
  console.log(`${paths[theme]}: written`)
  await context.close()
}
await browser.close()
await server.close()
