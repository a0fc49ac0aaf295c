import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openBrowser, openPage, openWindow } from './chromium.ts'
import { type StandIn, startStandIn } from './stand-in.ts'
import { HELIX, ME, NOW } from './stand-in-data.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** How the list of requests follows what happens, and how it is used by keys alone. */

let browser: Browser
let server: StandIn
let context: BrowserContext
let page: Page
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())
beforeEach(async () => {
  server = await startStandIn()
  context = await openWindow(browser, { width: 'desk', theme: 'light' })
  page = (await openPage(context)).page
  await page.goto(`${server.address}/app/${HELIX.id}/activity`)
  await page.getByText('Unresolved').waitFor()
})
afterEach(async () => {
  await context.close()
  await server.close()
})

const polls = () => server.asked.filter((asked) => /^GET .*\/requests\?/.test(asked))
const address = () => new URL(page.url())
const heading = (name: string) => page.getByRole('heading', { name })

test('keys move through the rows, open a request, go to the next one and close it', async () => {
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await heading('google/gemini-3-flash').waitFor()
  expect(address().searchParams.get('request')).toBe(REQUESTS[1]?.id)
  await page.keyboard.press('j')
  await page.waitForURL((url) => url.searchParams.get('request') === REQUESTS[2]?.id)
  await page.keyboard.press('Escape')
  await page.waitForURL((url) => !url.searchParams.has('request'))
})

test('a slash finds a request by its id, and letters in the field are no keys', async () => {
  await page.keyboard.press('/')
  await page.keyboard.type(`${REQUESTS[4]?.id}`)
  await page.keyboard.press('Enter')
  await page.getByText('$0.018530').waitFor()
  expect(address().pathname).toMatch(/\/activity$/)
})

test('g and a letter go to a page', async () => {
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await page.waitForURL(/\/keys$/)
  await page.keyboard.press('g')
  await page.keyboard.press('o')
  await page.waitForURL(/\/overview$/)
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.waitForURL(/\/activity$/)
})

test('filters are in the address, and are asked of the server', async () => {
  await page.getByRole('button', { name: 'Key', exact: true }).click()
  await page.getByLabel('nightly evals').check()
  await page.getByLabel('notebooks').check()
  await page.getByText('any of 2').waitFor()
  const [third, fourth] = address().searchParams.getAll('key')
  expect([third, fourth].every((id) => id?.startsWith('key_'))).toBe(true)
  await expect.poll(() => polls().at(-1)).toContain(`key=${third}&key=${fourth}`)
  await page.reload()
  await page.getByText('any of 2').waitFor()
  await page.goBack()
  await page.getByText('Key: nightly evals').waitFor()
})

test('a request that comes in shows up by itself, unless the list is paused', async () => {
  const [newest] = REQUESTS
  const more = { ...newest, id: 'req_new', model: 'acme/just-now' }
  server.answer('/requests', {
    kind: 'json',
    body: { object: 'list', data: [more, ...REQUESTS], has_more: false, next_cursor: null },
  })
  await page.getByText('acme/just-now').waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await page.getByRole('button', { name: 'Paused' }).waitFor()
})

test('a hidden page asks for nothing', async () => {
  const other = await context.newPage()
  await other.clock.install({ time: NOW })
  await other.goto(`${server.address}/app/${HELIX.id}/activity`)
  await other.getByText('Unresolved').waitFor()
  await page.close()
  await other.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  const before = polls().length
  await other.clock.runFor(60_000)
  expect(polls().length).toBe(before)
})

test('a tick is one call, and tells the server what the page has already', async () => {
  const before = polls().length
  await expect.poll(() => polls().length).toBeGreaterThan(before + 1)
  expect(server.asked.filter((asked) => asked.includes('/summary')).length).toBeLessThanOrEqual(2)
  expect(server.tagged).toBeGreaterThan(0)
})

test('a session that ends leads to the sign-in, which leads back', async () => {
  const over = { kind: 'refusal', httpStatus: 401, message: 'Sign in.' } as const
  const before = page.url()
  server.answer('/me', over)
  server.answer('/requests', over)
  await page.getByLabel('Password').waitFor()
  server.answer('/auth/sign-in', { kind: 'json', body: ME })
  server.answer('/requests', { kind: 'json', body: { data: REQUESTS, next_cursor: null } })
  await page.getByLabel('E-mail').fill('mira@helix.example')
  await page.getByLabel('Password').fill('twelve or more characters')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Unresolved').waitFor()
  expect(page.url()).toBe(before)
})

test.each(['//evil.example', '/\\evil.example', 'https://evil.example'])(
  'the sign-in never leads to another host: %s',
  async (next) => {
    server.answer('/auth/sign-in', { kind: 'json', body: ME })
    await page.goto(`${server.address}/app/sign-in?next=${encodeURIComponent(next)}`)
    await page.waitForURL((url) => !url.searchParams.has('next'))
    await page.getByLabel('E-mail').fill('mira@helix.example')
    await page.getByLabel('Password').fill('twelve or more characters')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Available credit').waitFor()
    expect(new URL(page.url()).origin).toBe(server.address)
  },
)
