import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectFits } from './chromium.ts'
import { test } from './page-test.ts'
import { type StandInAnswer, silent } from './stand-in.ts'
import { ENTRIES } from './stand-in-credit.ts'
import { HELIX } from './stand-in-data.ts'
import { BOUGHT_ID } from './stand-in-sale.ts'

/** Narrow windows, in which texts stay on one line and parts stay in their places; and rows that open. */

const at = (section: string) => `app/${HELIX.id}/${section}`

/** The lines that the text of each element takes. */
async function linesOf(texts: Locator): Promise<readonly number[]> {
  return texts.evaluateAll((elements) =>
    elements.map((element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      const rows = [...range.getClientRects()].filter(({ width }) => width > 0)
      return new Set(rows.map(({ bottom }) => Math.round(bottom / 8))).size
    }),
  )
}

/** The texts of those elements that are wider than their cells. */
async function cutOff(elements: Locator): Promise<readonly (string | null)[]> {
  return elements.evaluateAll((cells) =>
    cells
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ textContent }) => textContent),
  )
}

test('on a tablet, an entry of the credit has its words and IDs on one line each', async ({
  pages,
  server,
}) => {
  const [charge] = ENTRIES
  const entry = (fields: object) => ({ ...charge, request_id: null, reference: null, ...fields })
  server.answer('/entries', {
    kind: 'json',
    body: {
      object: 'list',
      data: [
        entry({ id: 'one', kind: 'charge', purse: 'free', reference: null }),
        entry({ id: 'two', kind: 'grant', purse: 'free', reference: 'welcome' }),
        entry({ id: 'three', kind: 'purchase', reference: BOUGHT_ID, amount: 1_234_567_890 }),
      ],
      has_more: false,
      next_cursor: null,
    },
  })
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/${at('credit')}?list=entries`)
  await page.getByText('Free credit given').waitFor()
  const rows = page.getByRole('region', { name: 'Entries' }).locator('tbody tr')
  const words = rows.locator('td:first-child > b')
  expect(await words.allTextContents()).toEqual(['Charge', 'Free credit given', 'Purchase'])
  const id = rows.getByText('pur_01kbh…0003').filter({ visible: true })
  const figures = rows.locator('td.num').filter({ visible: true })
  for (const texts of [words, id, figures]) {
    expect(new Set(await linesOf(texts))).toEqual(new Set([1]))
  }
  await expectFits(page)
})

test('on a desk, the activity of all accounts has whole names of models beside its ten columns', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/operator/activity`)
  const models = page.locator('td.model')
  await models.first().waitFor()
  expect(await cutOff(models)).toEqual([])
})

test.for([at('activity'), 'app/operator/activity'])(
  'in a window of 1,280 pixels, what is open beside %s leaves the names of models whole',
  async (path, { page, server }) => {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(`${server.address}/${path}`)
    const models = page.locator('td.model')
    await models.getByRole('link').first().click()
    await page.locator('.act.open').waitFor()
    expect(await cutOff(models)).toEqual([])
  },
)

const MODEL_SCREENS = [
  at('usage'),
  `app/operator/accounts/${HELIX.id}/usage`,
  'app/operator',
  'app/operator/usage?by=model',
  'app/operator/unsettled',
]

test.for(MODEL_SCREENS)(
  'at each width at which the layout changes, %s has whole cards, and names of models on one line',
  async (path, { page, server }) => {
    await page.goto(`${server.address}/${path}`)
    const models = page.locator('td .model, td.model a').filter({ visible: true })
    await models.first().waitFor()
    await page.waitForFunction(() => document.querySelector('main .grey') === null)
    for (const width of [641, 720, 721, 960, 961, 1200, 1201, 1279, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      await expectFits(page)
      expect([width, new Set(await linesOf(models))]).toEqual([width, new Set([1])])
    }
  },
)

test('on a phone, Profile begins with the name and the password, as Tab does', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/profile`)
  const titles = page.getByRole('heading', { level: 2 })
  await titles.filter({ hasText: 'Sessions' }).waitFor()
  expect((await titles.allTextContents()).slice(0, 2)).toEqual(['Name and email', 'Password'])
})

test('on a tablet, refused requests are named beside the arrow that opens them', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/${at('activity')}`)
  const summary = page.locator('.refusals summary')
  await summary.waitFor()
  const middleOf = async (box: Locator) => {
    const { y = 0, height = 0 } = (await box.boundingBox()) ?? {}
    return Math.round(y + height / 2)
  }
  expect(await middleOf(summary.locator('svg'))).toBe(await middleOf(summary))
})

test('on a phone, the title of a chart has one line, above its controls', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/${at('overview')}`)
  const title = page.getByRole('heading', { name: 'Spend by day' })
  await title.waitFor()
  expect(await linesOf(title)).toEqual([1])
})

test('on a tablet, range and CSV of Usage and margin are on one line below the title', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/app/operator/usage?compare=before`)
  const csv = page.getByRole('link', { name: 'CSV' })
  await csv.waitFor()
  const range = page.getByRole('button', { name: 'Date range' })
  expect((await csv.boundingBox())?.y).toBe((await range.boundingBox())?.y)
})

test('the tabs of an account do not move when the account has been read', async ({
  page,
  server,
}) => {
  const tabsAt = async (page: Page) =>
    (await page.getByRole('link', { name: 'Settings' }).boundingBox())?.y
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  await page.getByText('External ID').first().waitFor()
  const read = await tabsAt(page)
  server.answer(`/operator/accounts/${HELIX.id}`, silent)
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/settings`)
  await page.getByRole('link', { name: 'Settings' }).waitFor()
  expect(await tabsAt(page)).toBe(read)
})

test('a click anywhere on the row of a model opens it, and Enter on its name does', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/${at('models')}`)
  const row = page.locator('tr', { hasText: 'openai/gpt-6-mini' })
  await row.locator('td').filter({ visible: true }).last().click()
  const drawer = page.getByText('Prices per million tokens')
  await drawer.waitFor()
  await page.goBack()
  await drawer.waitFor({ state: 'detached' })
  await row.getByRole('link').focus()
  await page.keyboard.press('Enter')
  await drawer.waitFor()
})

test('removed credit is drawn upright, like a top-up', async ({ page, server }) => {
  await page.goto(`${server.address}/${at('credit')}`)
  await page.locator('.mark circle').first().waitFor()
  // The points of one place: an upright line has two.
  const uprights = () =>
    page.locator('.line-1 path').evaluate((path) => {
      const places = [...(path.getAttribute('d') ?? '').matchAll(/[ML]([\d.]+),/g)].map(
        ([, x]) => x,
      )
      return places.filter((x, at) => x === places[at - 1]).length
    })
  // Of the stand-in's three changes, two are of one day.
  const before = await uprights()
  server.answer('/statement', removal(await statementOf(page, server.address)))
  await page.reload()
  await page.getByText('Credit removed').waitFor()
  expect(await uprights()).toBe(before + 1)
})

async function statementOf(page: Page, address: string): Promise<{ lines: readonly object[] }> {
  const path = `/app/api/accounts/${HELIX.id}/statement`
  return page.evaluate(async (url) => (await fetch(url)).json(), `${address}${path}`)
}

/** The statement with one more change of ten days ago. */
function removal(statement: { lines: readonly object[] }): StandInAnswer {
  const day = statement.lines.find((line) => 'date' in line && line.date === '2026-11-11')
  const removed = { ...day, kind: 'chargeback', amount: -20_000_000, count: 1, purse: 'backed' }
  const lines = statement.lines.flatMap((line) =>
    line === day ? [{ ...removed, reference: 'removal-1' }, line] : [line],
  )
  return { kind: 'json', body: { ...statement, lines } }
}

test('names in a message are code, also below old data and at the end of a list', async ({
  page,
  server,
}) => {
  const refusal = {
    kind: 'refusal',
    httpStatus: 400,
    message: '`cursor` must be a cursor.',
  } as const
  const code = (place: string) => page.locator(place).locator('code', { hasText: /^cursor$/ })
  await page.goto(`${server.address}/${at('credit')}?list=entries`)
  const older = page.getByRole('button', { name: 'Older entries' })
  await older.waitFor()
  server.answer('/entries', refusal)
  await older.click()
  await code('.pager').waitFor()
  await page.goto(`${server.address}/${at('activity')}`)
  await page.getByRole('button', { name: 'Older requests' }).waitFor()
  server.answer('/requests', refusal)
  await page.getByRole('button', { name: 'Older requests' }).click()
  await code('.pager').waitFor()
})

test('a first tap on a column shows its figures until another place is tapped, and a second opens it', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/${at('usage')}`)
  const column = page.locator('.column').last()
  const tip = page.locator('.columns .tip')
  await column.tap()
  await tip.waitFor()
  await page.getByRole('heading', { level: 1, name: 'Usage' }).tap()
  await tip.waitFor({ state: 'detached' })
  await column.tap()
  await tip.waitFor()
  expect(page.url()).toContain('/usage')
  await column.tap()
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
})

test.for([at('keys'), at('credit'), 'app/operator'])(
  'at 400%, which leaves 320 pixels, %s has nothing to scroll sideways',
  async (path, { pages, server }) => {
    const { page } = await pages.of('phone')
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`${server.address}/${path}`)
    await page.waitForFunction(
      () => document.querySelector('h1') !== null && document.querySelector('main .grey') === null,
    )
    await expectFits(page)
  },
)

test('a statement is printed without navigation and buttons', async ({ page, server }) => {
  await page.goto(`${server.address}/${at('credit')}`)
  await page.getByText('invoice-1042').first().waitFor()
  await page.emulateMedia({ media: 'print' })
  const shown = page.locator('.side, .mtop, .tabbar, main .btn').filter({ visible: true })
  expect(await shown.count()).toBe(0)
  await page.getByText('invoice-1042').first().waitFor()
  await page.emulateMedia({ media: null })
})

test('on a tablet, the filters of an account’s requests are on one line, and no placeholder is cut', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/app/operator/accounts/${HELIX.id}/activity`)
  const filters = page.getByRole('group', { name: 'Filters' })
  await filters.getByRole('button', { name: 'Tag' }).waitFor()
  const tops = await filters
    .getByRole('button')
    .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top))
  expect(new Set(tops).size).toBe(1)
  await page.goto(`${server.address}/app/operator/accounts`)
  const field = page.getByPlaceholder('Search by name, email or ID')
  const needed = await field.evaluate((input: HTMLInputElement) => {
    const text = document.createElement('span')
    text.textContent = input.placeholder
    text.style.cssText = `position: absolute; font-size: ${getComputedStyle(input).fontSize}`
    input.after(text)
    return text.offsetWidth
  })
  for (const width of [641, 700, 720, 960, 768]) {
    await page.setViewportSize({ width, height: 1024 })
    expect(await field.evaluate((input) => input.clientWidth)).toBeGreaterThanOrEqual(needed)
  }
})

test('on a tablet, a change of the audit log names its account and its person whole', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/app/operator/audit-log`)
  await page.locator('tbody td').first().waitFor()
  const cut = await page.locator('tbody td, tbody td *').evaluateAll((cells) =>
    cells
      .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth)
      .filter((cell) => getComputedStyle(cell).overflowX !== 'visible')
      .map((cell) => cell.textContent),
  )
  expect(cut).toEqual([])
  await page.locator('tbody a', { hasText: HELIX.name }).filter({ visible: true }).first().waitFor()
})

test('on a tablet, the warnings of a model are whole', async ({ pages, server }) => {
  const { page } = await pages.of('tablet')
  await page.goto(`${server.address}/app/operator/models`)
  const warnings = page.locator('td.model .two').filter({ hasText: /doubted price|prices too old/ })
  await warnings.first().waitFor()
  expect(await warnings.count()).toBe(2)
  expect(await cutOff(warnings)).toEqual([])
  await expectFits(page)
})

test('on a phone, each sum of Unsettled has its line', async ({ pages, server }) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/unsettled`)
  await page.locator('.stat').first().waitFor()
  const lefts = await page
    .locator('.stat')
    .evaluateAll((sums) => sums.map((sum) => sum.getBoundingClientRect().left))
  expect(lefts).toHaveLength(3)
  expect(new Set(lefts).size).toBe(1)
})

test('in the Playground, Tab reaches the model, then the message, then the settings', async ({
  pages,
  server,
}) => {
  for (const width of ['desk', 'tablet'] as const) {
    const { page } = await pages.of(width)
    await page.goto(`${server.address}/app/${HELIX.id}/playground`)
    await page.locator('.pick').focus()
    await page.keyboard.press('Tab')
    const label = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))
    expect(await label()).toBe('Message')
    await page.keyboard.press('Tab')
    const system = page.getByLabel('System prompt')
    expect(await system.evaluate((field) => field === document.activeElement)).toBe(true)
  }
})

test.for(['laptop', 'tablet', 'phone'] as const)(
  'on a %s, which has no column for it, a key says when it expires below its name',
  async (width, { pages, server }) => {
    const { page } = await pages.of(width)
    await page.goto(`${server.address}/${at('keys')}`)
    const row = (name: string) => page.getByRole('row', { name })
    await row('nightly evals').getByText('Expires 1 Mar 2027').waitFor()
    await row('hackathon').getByText('Expired 12 Nov').waitFor()
    expect(await row('notebooks').getByText('Expire').count()).toBe(0)
  },
)

test.for([
  [at('keys'), 'Used 8 s ago'],
  [at('activity'), ' · 35,459 → 221 tokens'],
  ['app/operator/activity', `${HELIX.name} · 35,459 → 221 tokens`],
  ['app/operator/unsettled', 'Provisional'],
  ['app/operator/upstreams', '12 of 20 in flight'],
] as const)(
  'on a small tablet, %s says below a name what has no column there: %s',
  async ([path, text], { pages, server }) => {
    const { page } = await pages.of('small')
    await page.goto(`${server.address}/${path}`)
    await page.locator('tbody .two', { hasText: text }).filter({ visible: true }).first().waitFor()
    await expectFits(page)
  },
)
