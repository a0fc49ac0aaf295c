import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test } from './page-test.ts'
import { HELIX } from './stand-in-data.ts'

/** How large everything is that a finger touches. */

const OWN = 'overview activity usage keys credit models playground connect members'.split(' ')
const OPERATOR =
  'accounts usage purchases codes activity unsettled models upstreams health webhooks tokens audit-log'
const TABS = 'usage activity keys credit members settings'.split(' ')
const PATHS = [
  ...OWN.map((section) => `${HELIX.id}/${section}`),
  ...['profile', 'operator', ...OPERATOR.split(' ').map((section) => `operator/${section}`)],
  ...['', ...TABS.map((tab) => `/${tab}`)].map((tab) => `operator/accounts/${HELIX.id}${tab}`),
]

const PIXELS_MIN = 40

/** Buttons, fields, and links that are not words of a text or a name in a table. */
function lowTargets(page: Page): Promise<readonly string[]> {
  return page.evaluate((pixelsMin) => {
    const all = document.querySelectorAll<HTMLElement>(
      'button, a, summary, select, input:not([type=checkbox], [type=radio], [type=range], .vh)',
    )
    return [...all].flatMap((element) => {
      // Its label is touched as well as the field itself.
      const target = element.closest<HTMLElement>('label.find') ?? element
      const { height, width } = target.getBoundingClientRect()
      const isText = getComputedStyle(element).display === 'inline' || element.closest('p, td')
      const isHidden = width < 2 || element.matches('.skip')
      if (isText || isHidden || height > pixelsMin - 0.5) return []
      return [`${element.className} ${element.textContent} ${Math.round(height)}`]
    })
  }, PIXELS_MIN)
}

test('on a phone, each button, field and link beside text is at least 40 pixels high', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  for (const path of PATHS) {
    await page.goto(`${server.address}/app/${path}`)
    await page.getByRole('heading').first().waitFor()
    await page.waitForFunction(() => document.querySelector('main .grey') === null)
    expect([path, await lowTargets(page)]).toEqual([path, []])
  }
})
