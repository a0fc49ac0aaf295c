import { expect } from 'vitest'
import { test } from './page-test.ts'
import { PIXELS_MIN, smallOrUnreadable } from './small-targets.ts'
import { HELIX } from './stand-in-data.ts'

/** Every state of every screen is looked at for these faults, on a desk and on a phone: `each-screen.ts`. */

test('a target that is too small, a chip without a word and a tab that covers another are found', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}`)
  await page.locator('.tabs a').first().waitFor()
  expect(await smallOrUnreadable(page, PIXELS_MIN.desk)).toEqual([])
  const tab = await page.evaluate(() => {
    const main = document.querySelector('main')
    for (const hidden of ['none', 'vh']) {
      const [chip, word] = [document.createElement('span'), document.createElement('span')]
      chip.className = 'chip'
      word.className = hidden
      word.hidden = hidden === 'none'
      word.textContent = hidden
      chip.append(word)
      main?.append(chip)
    }
    const small = document.createElement('button')
    Object.assign(small.style, { height: '20px', width: '30px', padding: '0', display: 'block' })
    small.className = 'planted'
    main?.append(small)
    const first = document.querySelector<HTMLElement>('.tabs a')
    Object.assign(first?.style ?? {}, { width: '30px', padding: '0' })
    return `${first?.className} ${first?.textContent}`
  })
  const found = ['planted  30 x 20', 'chip none', 'chip vh', tab]
  expect(await smallOrUnreadable(page, PIXELS_MIN.desk)).toEqual(found)
})
