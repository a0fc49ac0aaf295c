import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openBrowser, openPage, openWindow } from './chromium.ts'
import { type Screen, testScreens } from './each-screen.ts'
import { ANSWER_ID, type StandIn, type StandInAnswer, startStandIn } from './stand-in.ts'
import { HELIX } from './stand-in-data.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** Connect and Playground: each screen and each of its states, and how the Playground is used. */

let browser: Browser
let server: StandIn
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser.close())
beforeEach(async () => {
  server = await startStandIn()
})
afterEach(() => server.close())

const at = (section: string) => `${HELIX.id}/${section}`
const json = (body: unknown) => ({ kind: 'json', body }) as const

const ANSWERED = json({
  choices: [
    {
      message: {
        content:
          'A toll gate stops you until you have paid.\n\nA turnstile counts you, one at a time, and may be free.',
      },
      finish_reason: 'stop',
    },
  ],
})
const REFUSED = {
  ...json({
    error: {
      message:
        'This request needs a hold of $0.0210, and $0.0042 are left of the limit of this key.',
      code: 'key_limit_reached',
      param: null,
    },
  }),
  httpStatus: 402,
}

/** What the Playground is answered, and the record of its request. */
function answerChat(answer: StandInAnswer): void {
  server.answer('/playground/chat', answer)
  server.answer(`/requests/${ANSWER_ID}`, json({ ...REQUESTS[4], id: ANSWER_ID }))
}

/** Which a phone has behind a button. */
async function openSettings(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: 'System, cap and more' })
  await page.getByLabel('Message').waitFor()
  if (await more.isVisible()) await more.click()
}

async function ask(page: Page): Promise<void> {
  await openSettings(page)
  await page.getByLabel('System').fill('You are brief.')
  await page.getByLabel('Message').fill('What tells a toll gate from a turnstile?')
  await page.keyboard.press('Control+Enter')
}

const SCREENS: readonly Screen[] = [
  { name: 'connect', path: at('connect'), text: 'Any other client' },
  {
    name: 'connect-agent',
    path: `${at('connect')}?client=codex&model=openai/gpt-6-mini`,
    text: 'Put it into ~/.codex/config.toml.',
  },
  {
    name: 'playground',
    path: at('playground'),
    act: openSettings,
    text: 'Show the answer as it comes',
  },
  {
    name: 'playground-answered',
    path: at('playground'),
    before: () => answerChat(ANSWERED),
    act: ask,
    text: 'Charged $0.0185',
  },
  {
    name: 'playground-edited',
    path: at('playground'),
    before: () => answerChat(ANSWERED),
    async act(page) {
      await ask(page)
      await page.getByRole('button', { name: 'Edit the message' }).first().click()
      await page.getByLabel('Message of You').fill('Which gates take tolls in Norway?')
    },
    text: 'Save',
  },
  {
    name: 'playground-running',
    path: at('playground'),
    before: () => answerChat({ kind: 'silence' }),
    act: ask,
    text: 'Answering',
  },
  {
    name: 'playground-refused',
    path: at('playground'),
    before: () => answerChat(REFUSED),
    act: ask,
    text: 'Raise the limit of “Playground”',
  },
]

testScreens(SCREENS, { open: () => browser, address: () => server.address })

test('Ctrl and Enter send; stopping leaves the answer, and what was written stays', async () => {
  answerChat({ kind: 'silence' })
  const context = await openWindow(browser, { width: 'desk', theme: 'light' })
  const { page } = await openPage(context)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('It was stopped before an answer began.').waitFor()
  await page.getByText('What tells a toll gate from a turnstile?').waitFor()
  answerChat(ANSWERED)
  await page.getByRole('button', { name: 'Send again from here' }).click()
  await page.getByText('Charged $0.0185').waitFor()
  await page.getByRole('link', { name: 'See it in Activity' }).click()
  await page.waitForURL((url) => url.searchParams.get('request') === ANSWER_ID)
  await context.close()
})

test('nothing of a prompt or an answer is in the address or the storage of the browser', async () => {
  answerChat(ANSWERED)
  const context = await openWindow(browser, { width: 'desk', theme: 'light' })
  const { page } = await openPage(context)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByText('Charged $0.0185').waitFor()
  const kept = await page.evaluate(async () => {
    const caches = await globalThis.caches.keys()
    const databases = await indexedDB.databases()
    return [{ ...localStorage }, { ...sessionStorage }, document.cookie, caches, databases]
  })
  expect(kept).toEqual([{}, {}, '', [], []])
  expect(page.url()).not.toMatch(/turnstile|brief/)
  await page.reload()
  await page.getByText('something').waitFor()
  expect(await page.getByText('turnstile').count()).toBe(0)
  await context.close()
})
