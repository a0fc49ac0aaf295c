import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { test } from './page-test.ts'
import { PIXELS_MIN, smallTargets } from './small-targets.ts'
import { HELIX } from './stand-in-data.ts'

/** How large everything is that a finger touches, and whether states and tabs can be read. */

const OWN = 'overview activity usage keys credit models playground connect members'.split(' ')
const OPERATOR =
  'accounts usage purchases codes activity unsettled models upstreams health webhooks tokens audit-log'
const TABS = 'usage activity keys credit members settings'.split(' ')
const PATHS = [
  ...OWN.map((section) => `${HELIX.id}/${section}`),
  ...['profile', 'operator', ...OPERATOR.split(' ').map((section) => `operator/${section}`)],
  ...['', ...TABS.map((tab) => `/${tab}`)].map((tab) => `operator/accounts/${HELIX.id}${tab}`),
]

/** Chips of states whose colour is all that they have, and tabs whose names are wider than they are. */
function unreadable(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const isShown = (part: Element) => part.checkVisibility({ visibilityProperty: true })
    // A word that is for screen readers alone is a pixel wide.
    const hasWords = (part: Element): boolean =>
      isShown(part) &&
      part.getBoundingClientRect().width >= 2 &&
      [...part.childNodes].some((child) =>
        child instanceof Element ? hasWords(child) : /\S/.test(child.nodeValue ?? ''),
      )
    const wordless = [...document.querySelectorAll('.chip')].filter(
      (chip) => isShown(chip) && !hasWords(chip),
    )
    const covered = [...document.querySelectorAll('.tabs a')].filter((tab) => {
      const range = document.createRange()
      range.selectNodeContents(tab)
      return range.getBoundingClientRect().width > tab.getBoundingClientRect().width + 0.5
    })
    return [...wordless, ...covered].map((each) => `${each.className} ${each.textContent}`)
  })
}

test.for([
  ['phone', PIXELS_MIN.phone],
  ['desk', PIXELS_MIN.desk],
] as const)(
  'on a %s, each button, field and link beside text is at least %s pixels wide and high, states have words, and no tab covers another',
  async ([width, pixelsMin], { pages, server }) => {
    const { page } = await pages.of(width)
    const small: (readonly [path: string, targets: readonly string[]])[] = []
    for (const path of PATHS) {
      await page.goto(`${server.address}/app/${path}`)
      await page.getByRole('heading').first().waitFor()
      await page.waitForFunction(() => document.querySelector('main .grey') === null)
      small.push([path, [...(await smallTargets(page, pixelsMin)), ...(await unreadable(page))]])
    }
    expect(small.filter(([, targets]) => targets.length > 0)).toEqual([])
    await page.evaluate(() => {
      for (const hidden of ['none', 'vh']) {
        const [chip, word] = [document.createElement('span'), document.createElement('span')]
        chip.className = 'chip'
        word.className = hidden
        word.hidden = hidden === 'none'
        word.textContent = hidden
        chip.append(word)
        document.querySelector('main')?.append(chip)
      }
    })
    expect(await unreadable(page)).toEqual(['chip none', 'chip vh'])
  },
)
