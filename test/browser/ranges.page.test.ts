import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { resize } from './chromium.ts'
import { test } from './page-test.ts'
import { json, type StandIn } from './stand-in.ts'
import { HELIX } from './stand-in-data.ts'
import { USAGE_COMPARED } from './stand-in-usage.ts'

/** How a range of dates is picked, typed and kept in the address; today is 21 November 2026. */

const open = async (page: Page, server: StandIn, path: string) => {
  await page.goto(`${server.address}/app/${HELIX.id}/${path}`)
  await page.getByRole('button', { name: 'Date range' }).click()
}
/** The range in the address, which a test may learn later than the page draws it. */
const expectRange = (page: Page) =>
  expect.poll(() => {
    const { searchParams } = new URL(page.url())
    return ['range', 'from', 'to', 'compare'].map((name) => searchParams.get(name))
  })
const lastAsked = (server: StandIn, call: string) =>
  server.asked.findLast((one) => one.includes(`/${call}?`)) ?? ''

test.for(['usage', 'overview', 'activity'])(
  'October opens with one click on %s, in whole UTC days',
  async (section, { page, server }) => {
    await open(page, server, section)
    await page.getByRole('button', { name: 'Last month' }).click()
    await page.getByRole('button', { name: 'Date range: October 2026' }).waitFor()
    await expectRange(page).toEqual([null, '2026-10-01', '2026-10-31', null])
    const call = section === 'activity' ? 'requests' : section
    const names = section === 'activity' ? ['since', 'until'] : ['from', 'to']
    await expect
      .poll(() => {
        const [, asked = ''] = lastAsked(server, call).split(' ')
        const { searchParams } = new URL(asked, server.address)
        return names.map((name) => searchParams.get(name))
      })
      .toEqual(['2026-10-01T00:00:00.000Z', '2026-11-01T00:00:00.000Z'])
  },
)

test('a month is selected by its name, with its comparison, and applied', async ({
  page,
  server,
}) => {
  await open(page, server, 'usage')
  await page.getByRole('button', { name: 'October 2026', exact: true }).click()
  await page.getByRole('button', { name: 'Month before' }).click()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'October 2026 vs September' }).waitFor()
  await expectRange(page).toEqual([null, '2026-10-01', '2026-10-31', 'before'])
  await expect.poll(() => lastAsked(server, 'usage')).toContain('compare=before')
})

test('days are picked by two clicks in any order, or with the arrow keys', async ({
  page,
  server,
}) => {
  await open(page, server, 'usage')
  await page.getByRole('button', { name: '9 November 2026', exact: true }).click()
  await page.getByRole('button', { name: '28 October 2026', exact: true }).click()
  await page.getByText('13 days.').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText('1 day.').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Date range: 4 Nov 2026' }).waitFor()
})

test.for(['tablet', 'small', 'phone'] as const)(
  'on a %s, a range is picked by targets for a finger, and its fields do not enlarge the page',
  async (width, { pages, server }) => {
    const { page } = await pages.of(width)
    await open(page, server, 'usage')
    const targets = page.locator('.range-panel').locator('button, input').filter({ visible: true })
    const small = await targets.evaluateAll((parts) =>
      parts.flatMap((part) => (part.getBoundingClientRect().height < 40 ? [part.outerHTML] : [])),
    )
    expect(small).toEqual([])
    const sizes = await page
      .locator('.range-panel .inp')
      .evaluateAll((fields) => fields.map((field) => getComputedStyle(field).fontSize))
    expect(sizes).toEqual(['16px', '16px'])
  },
)

test('a picked day keeps its colour under the pointer', async ({ page, server }) => {
  await open(page, server, 'usage')
  const day = page.getByRole('button', { name: '28 October 2026', exact: true })
  const color = () => day.evaluate((button) => getComputedStyle(button).backgroundColor)
  await day.click()
  await page.getByText('1 day.').waitFor()
  const pointed = await color()
  await page.mouse.move(0, 0)
  expect(await color()).toBe(pointed)
})

test('a day is reached by Tab in any month', async ({ page, server }) => {
  await open(page, server, 'usage')
  const earlier = page.getByRole('button', { name: 'Earlier month' })
  await earlier.click()
  await earlier.click()
  await page.getByRole('button', { name: 'August 2026', exact: true }).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => page.getByRole('textbox', { name: 'From' }).inputValue())
    .toBe('2 Aug 2026')
})

test('on a phone, which shows one month, a day is reached by Tab, and the arrow keys lead to the next month', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await open(page, server, 'usage')
  await page.getByRole('button', { name: 'Earlier month' }).click()
  await page.getByRole('button', { name: 'September 2026', exact: true }).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
  expect(await focused()).toBe('1 September 2026')
  for (let week = 0; week < 4; week++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  expect(await focused()).toBe('30 September 2026')
  await page.keyboard.press('ArrowRight')
  await expect.poll(focused).toBe('1 October 2026')
  await page.getByRole('button', { name: 'October 2026', exact: true }).waitFor()
  await page.keyboard.press('ArrowLeft')
  await expect.poll(focused).toBe('30 September 2026')
})

test('the picker stays in a window that is made narrower', async ({ page, server }) => {
  await open(page, server, 'usage')
  await resize(page, 'tablet')
  const right = () =>
    page.getByRole('dialog').evaluate((panel) => innerWidth - panel.getBoundingClientRect().right)
  await expect.poll(right).toBeGreaterThanOrEqual(0)
})

test('dates are typed, and an invalid date or a too long range is refused with a message', async ({
  page,
  server,
}) => {
  await open(page, server, 'usage')
  await page.getByRole('textbox', { name: 'From' }).fill('the 3rd')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Enter a date such as 31 Oct or 2026-10-31.').waitFor()
  await page.getByRole('textbox', { name: 'From' }).fill('2024-01-01')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Choose at most 400 days.').waitFor()
  await page.getByRole('textbox', { name: 'From' }).fill('3 oct')
  await page.getByLabel('To, included').fill('2026-10-04')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Date range: 3 Oct to 4 Oct 2026' }).waitFor()
  await expectRange(page).toEqual([null, '2026-10-03', '2026-10-04', null])
})

test('a column opens its day in Activity, by Enter and by a click with its group', async ({
  page,
  server,
}) => {
  const usage = `${server.address}/app/${HELIX.id}/usage`
  await page.goto(usage)
  // Before the click: a pointer that rests on a column chooses it for Enter too.
  await page.getByRole('slider', { name: 'Spend by day and model' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/activity\?from=2026-11-21&to=2026-11-21$/)
  await page.goto(usage)
  await page.locator('.column path').first().click()
  await page.waitForURL(/activity\?from=2026-10-23&to=2026-10-23&model=/)
})

test('a step of a chart is read with the value that it is compared with', async ({
  page,
  server,
}) => {
  server.answer('/usage', json(USAGE_COMPARED))
  await page.goto(`${server.address}/app/${HELIX.id}/usage?compare=before`)
  const slider = page.getByRole('slider', { name: 'Spend by day and model' })
  await slider.focus()
  const tip = page.locator('.tip')
  const [name, value] = [
    await tip.locator('dt').last().textContent(),
    await tip.locator('dd').last().textContent(),
  ]
  expect(name).toBe('Spend in the 30 days before')
  expect(await slider.getAttribute('aria-valuetext')).toMatch(new RegExp(`, ${name} \\${value}$`))
})

test('a chosen range stays from section to section, also over one that has none', async ({
  page,
  server,
}) => {
  const october = 'from=2026-10-01&to=2026-10-31'
  await page.goto(`${server.address}/app/${HELIX.id}/usage?${october}&compare=before&by=key`)
  const bar = page.getByRole('navigation', { name: 'Account' })
  const go = async (section: string) => {
    await bar.getByRole('link', { name: section }).click()
    await page.getByRole('heading', { level: 1, name: section }).waitFor()
  }
  await go('Activity')
  await expectRange(page).toEqual([null, '2026-10-01', '2026-10-31', null])
  await go('Keys')
  await expectRange(page).toEqual([null, null, null, null])
  await go('Overview')
  await expectRange(page).toEqual([null, '2026-10-01', '2026-10-31', 'before'])
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.getByRole('heading', { level: 1, name: 'Credit' }).waitFor()
  await expectRange(page).toEqual([null, '2026-10-01', '2026-10-31', null])
})

test('the hours of Activity stay there, and a range that is left is forgotten', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${HELIX.id}/overview?range=7d`)
  const bar = page.getByRole('navigation', { name: 'Account' })
  await bar.getByRole('link', { name: 'Activity' }).click()
  await page.getByRole('button', { name: 'Date range: Last 7 days' }).click()
  await page.getByRole('button', { name: 'Last hour' }).click()
  await expectRange(page).toEqual(['1h', null, null, null])
  await bar.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Date range: Last 30 days' }).waitFor()
  await expectRange(page).toEqual([null, null, null, null])
})

test('Apply without another choice keeps the hours that Activity shows', async ({
  page,
  server,
}) => {
  await open(page, server, 'activity?range=1h')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByRole('button', { name: 'Date range: Last hour' }).click()
  await page.getByRole('button', { name: 'Last hour', exact: true, pressed: true }).waitFor()
  await expectRange(page).toEqual(['1h', null, null, null])
})

test('a chosen range stays among the tabs of an account, and the pages of operators', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}?range=90d&compare=year`)
  await page.getByRole('link', { name: 'Activity' }).last().click()
  await page.getByRole('button', { name: 'Date range: Last 90 days' }).waitFor()
  await expectRange(page).toEqual(['90d', null, null, null])
  await page.getByRole('link', { name: 'Usage and margin' }).click()
  await page.getByRole('heading', { level: 1, name: 'Usage and margin' }).waitFor()
  await expectRange(page).toEqual(['90d', null, null, 'year'])
})

test('an account that is opened from a report or a list of operators keeps the range, and so does the view of its members', async ({
  page,
  server,
}) => {
  const october = [null, '2026-10-01', '2026-10-31', null]
  for (const list of ['usage', 'accounts']) {
    await page.goto(`${server.address}/app/operator/${list}?from=2026-10-01&to=2026-10-31`)
    await page.locator('main table').getByRole('link', { name: HELIX.name }).first().click()
    await page.getByRole('heading', { level: 1, name: HELIX.name }).waitFor()
    await expectRange(page).toEqual(october)
  }
  await page.getByRole('link', { name: 'View as member' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await expectRange(page).toEqual(october)
})
