import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { test } from './page-test.ts'
import { down, EMPTY, json, type StandIn } from './stand-in.ts'
import { HELIX, listOf, ME, NOW } from './stand-in-data.ts'
import { REQUESTS, SUMMARY } from './stand-in-requests.ts'
import { USAGE_BY_TAG } from './stand-in-usage.ts'

/** How the list of requests follows what happens, and how it is used by keys alone. */

test.beforeEach(async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByText('Unresolved').waitFor()
})

const polls = ({ asked }: StandIn) => asked.filter((one) => /^GET .*\/requests\?/.test(one))
const searched = (page: Page) => new URL(page.url()).searchParams

/** Has the list go on with one request; each read of the newest has another cursor. */
function answerOlder(server: StandIn): void {
  let cursors = 0
  const old = { ...REQUESTS[4], id: 'req_old', model: 'acme/long-ago' }
  server.answer('/requests', {
    kind: 'by',
    of: (query) => (query.has('cursor') ? listOf([old]) : listOf(REQUESTS, `cursor_${++cursors}`)),
  })
}

test('keys move through the rows, open a request, go to the next one and close it', async ({
  page,
}) => {
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'google/gemini-3-flash' }).waitFor()
  await page.waitForURL((url) => url.searchParams.get('request') === REQUESTS[1]?.id)
  await page.keyboard.press('j')
  await page.waitForURL((url) => url.searchParams.get('request') === REQUESTS[2]?.id)
  await page.keyboard.press('Escape')
  await page.waitForURL((url) => !url.searchParams.has('request'))
})

test('a slash opens the search for a request ID, and letters typed there are not shortcuts', async ({
  page,
}) => {
  await page.keyboard.press('/')
  await page.keyboard.type(`${REQUESTS[4]?.id}`)
  await page.keyboard.press('Enter')
  await page.getByText('$0.018530').waitFor()
  expect(new URL(page.url()).pathname).toMatch(/\/activity$/)
})

test('g and a letter go to a page', async ({ page }) => {
  for (const [letter, path] of [
    ['k', /\/keys$/],
    ['o', /\/overview$/],
    ['a', /\/activity$/],
  ] as const) {
    // The letter counts for a second after the g: it waits for nothing that the page does with the g.
    await Promise.all([page.keyboard.press('g'), page.keyboard.press(letter)])
    await page.waitForURL(path)
  }
})

test('filters are in the address, and are sent to the server', async ({ page, server }) => {
  await page.getByRole('button', { name: 'Key', exact: true }).click()
  await page.getByLabel('nightly evals').check()
  await page.getByLabel('notebooks').check()
  await page.getByText('any of 2').waitFor()
  await page.waitForURL((url) => url.searchParams.getAll('key').length === 2)
  const [third, fourth] = searched(page).getAll('key')
  expect([third, fourth].every((id) => id?.startsWith('key_'))).toBe(true)
  await expect.poll(() => polls(server).at(-1)).toContain(`key=${third}%2C${fourth}`)
  await page.reload()
  await page.getByText('any of 2').waitFor()
  await page.goBack()
  await page.getByText('Key: nightly evals').waitFor()
})

test('filters that no request matches are cleared by the button of the empty list, and the range stays', async ({
  page,
  server,
}) => {
  server.answer('/requests', json(EMPTY))
  await page.goto(`${server.address}/app/${HELIX.id}/activity?range=7d&state=final&tag=evals`)
  await page.getByText('No requests match these filters.').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.waitForURL(/activity\?range=7d$/)
  await page.getByText('No requests in this period.').waitFor()
  await page.getByRole('button', { name: 'Show all time' }).click()
  await page.waitForURL(/activity\?range=all$/)
})

test('an estimated charge is marked in its row and in the drawer', async ({ page, server }) => {
  const estimate = { ...REQUESTS[4], estimated: true }
  server.answer('/requests', json(listOf([estimate])))
  await page.getByRole('row').filter({ hasText: 'est. $0.0185' }).click()
  const drawer = page.getByRole('complementary', { name: 'Request' })
  await drawer.getByText('Charge (estimate)').waitFor()
  await drawer.getByText('The provider reported no cost.').waitFor()
})

test('a new request appears in the list without a reload, unless the list is paused', async ({
  page,
  server,
}) => {
  const [newest] = REQUESTS
  const more = { ...newest, id: 'req_new', model: 'acme/just-now' }
  server.answer('/requests', json(listOf([more, ...REQUESTS])))
  await page.getByText('acme/just-now').waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: 'Paused' }).waitFor()
})

test('older requests stay when the page is returned to, and the newest are not read again', async ({
  page,
  server,
}) => {
  answerOlder(server)
  await page.getByRole('button', { name: 'Older requests' }).click()
  await page.getByText('acme/long-ago').waitFor()
  const before = polls(server).length
  const others = () => server.asked.filter((one) => one.includes('/refusals?')).length
  const othersBefore = others()
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await expect.poll(others).toBeGreaterThan(othersBefore)
  expect(polls(server).length).toBe(before)
  expect(await page.getByText('acme/long-ago').count()).toBe(1)
})

test('a poll that is under way when older requests are asked for takes none of them away', async ({
  ownPage: page,
  server,
}) => {
  answerOlder(server)
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByText('Unresolved').waitFor()
  const polled = Promise.withResolvers<void>()
  const shown = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  await page.route(/\/requests\?(?!.*cursor=)/, async (route) => {
    polled.resolve()
    await shown.promise
    const response = await route.fetch()
    await route.fulfill({ response }).catch(() => undefined)
    answered.resolve()
  })
  await polled.promise
  const ended = page.waitForEvent('requestfailed', (one) => one.url().includes('/requests?'))
  await page.getByRole('button', { name: 'Older requests' }).click()
  await page.getByText('acme/long-ago').waitFor()
  await ended
  shown.resolve()
  await answered.promise
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))
  expect(await page.getByText('acme/long-ago').count()).toBe(1)
})

test('a paused list that goes on has no button that would take its older requests away', async ({
  ownPage: page,
  server,
}) => {
  answerOlder(server)
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByText('Unresolved').waitFor()
  await page.route(/\/requests\?(?!.*cursor=)/, (route) => route.fulfill({ status: 500, body: '' }))
  const stale = page.getByText(/^As of \d\d:\d\d:/)
  await stale.waitFor()
  await page.getByRole('button', { name: 'Older requests' }).click()
  await page.getByText('acme/long-ago').waitFor()
  expect(await stale.count()).toBe(0)
})

test('the button for older requests keeps the focus', async ({ page, server }) => {
  server.answer('/requests', {
    kind: 'by',
    of: (query) =>
      query.has('cursor')
        ? listOf([{ ...REQUESTS[4], id: 'req_old', model: 'acme/long-ago' }], 'further')
        : listOf(REQUESTS, 'older'),
  })
  const more = page.getByRole('button', { name: 'Older requests' })
  await more.focus()
  await page.keyboard.press('Enter')
  await page.getByText('acme/long-ago').waitFor()
  expect(await more.evaluate((button) => button === document.activeElement)).toBe(true)
})

test('a hidden page asks for nothing', async ({ page, ownPage, server }) => {
  await page.goto('about:blank')
  let underWay = 0
  ownPage.on('request', () => underWay++)
  ownPage.on('requestfinished', () => underWay--)
  ownPage.on('requestfailed', () => underWay--)
  await ownPage.clock.install({ time: NOW })
  await ownPage.goto(`${server.address}/app/${HELIX.id}/activity`)
  await ownPage.getByText('Unresolved').waitFor()
  await ownPage.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  // Calls that it sent before it was hidden may reach the server afterwards.
  await expect.poll(() => underWay).toBe(0)
  const before = polls(server).length
  await ownPage.clock.runFor(60_000)
  expect(polls(server).length).toBe(before)
})

test('a tick is one call, and names the requests that the page already has', async ({ server }) => {
  const before = polls(server).length
  await expect.poll(() => polls(server).length).toBeGreaterThan(before + 1)
  expect(server.asked.filter((asked) => asked.includes('/summary')).length).toBeLessThanOrEqual(2)
  expect(server.tagged).toBeGreaterThan(0)
})

test('a session that ends leads to the sign-in, which leads back', async ({ page, server }) => {
  const over = { kind: 'refusal', httpStatus: 401, message: 'Sign in.' } as const
  const before = page.url()
  server.answer('/me', over)
  server.answer('/requests', over)
  await page.getByLabel('Password').waitFor()
  server.answer('/auth/sign-in', { kind: 'json', body: ME })
  server.answer('/requests', { kind: 'json', body: { data: REQUESTS, next_cursor: null } })
  await page.getByLabel('Email').fill('mira@helix.example')
  await page.getByLabel('Password').fill('twelve or more characters')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Unresolved').waitFor()
  await expect.poll(() => page.url()).toBe(before)
})

test.for(['//evil.example', '/\\evil.example', 'https://evil.example'])(
  'the sign-in never leads to another host: %s',
  async (next, { page, server }) => {
    server.answer('/auth/sign-in', { kind: 'json', body: ME })
    await page.goto(`${server.address}/app/sign-in?next=${encodeURIComponent(next)}`)
    await page.waitForURL((url) => !url.searchParams.has('next'))
    await page.getByLabel('Email').fill('mira@helix.example')
    await page.getByLabel('Password').fill('twelve or more characters')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Available credit').waitFor()
    expect(new URL(page.url()).origin).toBe(server.address)
  },
)

test('CSV has the filters of the screen', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/activity?range=7d&model=openai/gpt-6-mini`)
  const link = page.getByRole('link', { name: 'CSV' })
  const address = new URL((await link.getAttribute('href')) ?? '', server.address)
  expect(address.pathname).toBe(`/app/api/accounts/${HELIX.id}/requests.csv`)
  expect(address.searchParams.get('model')).toBe('openai/gpt-6-mini')
  expect(address.searchParams.get('since')).toBe('2026-11-15T00:00:00.000Z')
})

test('Live is not green while polls fail, and says since when', async ({
  ownPage: page,
  server,
}) => {
  await page.clock.install({ time: NOW })
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByRole('button', { name: 'Live' }).waitFor()
  await page.clock.pauseAt(NOW.getTime() + 602_000)
  server.answer('/requests', down)
  // The page's time passes second by second: after some failures it waits for long between two polls.
  const passUntil = (button: Locator) =>
    expect.poll(() => page.clock.runFor(1_000).then(() => button.count())).toBe(1)
  await passUntil(page.getByRole('button', { name: 'Reconnecting…' }))
  const offline = page.getByRole('button', { name: 'Offline since 22:15' })
  await passUntil(offline)
  expect(await offline.getAttribute('class')).toBe('btn live away')
})

test('filters list models that left the catalog, and deleted keys', async ({ page, server }) => {
  const row = (id: string, name: string | null) => ({ id, name, figures: USAGE_BY_TAG.totals })
  const used: Readonly<Record<string, readonly ReturnType<typeof row>[]>> = {
    model: [row('acme/retired-2', null)],
    key: [row('key_deleted', 'old notebook')],
  }
  server.answer('/usage/report', {
    kind: 'by',
    of: (query) => {
      const by = query.get('by') ?? ''
      return { ...USAGE_BY_TAG, by, data: used[by] ?? [] }
    },
  })
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByRole('button', { name: 'Model', exact: true }).click()
  await page.getByLabel('acme/retired-2').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Key', exact: true }).click()
  await page.getByLabel('old notebook (deleted)').check()
  await expect.poll(() => polls(server).at(-1)).toContain('key=key_deleted')
})

test('a typed tag filters the list; over more than a day, the requests found so far are counted', async ({
  page,
  server,
}) => {
  const summaries = () => server.asked.filter((asked) => asked.includes('/requests/summary'))
  await page.goto(`${server.address}/app/${HELIX.id}/activity?range=30d`)
  await page.getByText('spent').waitFor()
  await expect.poll(() => summaries().at(-1)).toContain('since=2026-10-23T00')
  await page.getByRole('button', { name: 'Tag', exact: true }).click()
  await page.getByLabel('Find: Tag').fill('nightly')
  await page.getByRole('dialog', { name: 'Tag' }).getByRole('button', { name: 'nightly' }).click()
  await page.getByText('Tag: nightly').waitFor()
  await expect.poll(() => searched(page).getAll('tag')).toEqual(['nightly'])
  await expect.poll(() => polls(server).at(-1)).toContain('tag=nightly')
  await page.getByText(`so far, back to`).waitFor()
  expect(summaries().filter((one) => one.includes('tag='))).toEqual([])
})

test('the error codes of failed requests are above the list, and open the newest request of each', async ({
  page,
  server,
}) => {
  const failed = REQUESTS.find(({ error_code: code }) => code === 'upstream_error')
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByRole('button', { name: '4 upstream_error' }).click()
  await expect.poll(() => searched(page).get('request')).toBe(failed?.id)
  await page.getByText('The provider failed or could not be reached').waitFor()
})

test('an error whose newest request was pruned opens nothing, and failures without a code are counted', async ({
  page,
  server,
}) => {
  const codes = [{ code: 'upstream_error', requests: 41, latest: null }]
  const errors = { codes, unknown: 12 }
  server.answer('/requests/summary', json({ ...SUMMARY, errors }))
  await page.goto(`${server.address}/app/${HELIX.id}/activity?range=30d`)
  await page.getByText('12 from before codes were counted').waitFor()
  expect(await page.getByText('41 upstream_error').count()).toBe(1)
  expect(await page.getByRole('button', { name: '41 upstream_error' }).count()).toBe(0)
})

test.for(['laptop', 'tablet', 'small'] as const)(
  'on a %s, which has no column for it, the provider cost of a request is below its charge',
  async (width, { pages, server }) => {
    const { page } = await pages.of(width)
    for (const path of ['operator/activity', `operator/accounts/${HELIX.id}/activity`]) {
      await page.goto(`${server.address}/app/${path}`)
      const row = page.getByRole('row').filter({ hasText: '$0.0185' })
      await row.getByText('cost $0.0176').filter({ visible: true }).waitFor()
      expect(await page.getByRole('columnheader', { name: 'Provider cost' }).count()).toBe(0)
      // A request without a known cost has no line for it.
      expect(await page.getByText(/^cost –$/).count()).toBe(0)
    }
  },
)
