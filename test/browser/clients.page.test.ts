import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { sendByKeys } from './chromium.ts'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { ANSWER_ID, json, type StandIn, type StandInAnswer } from './stand-in.ts'
import { at, HELIX, NOW } from './stand-in-data.ts'
import { MODEL_LIST } from './stand-in-models.ts'
import { REQUESTS } from './stand-in-requests.ts'

/** Connect and Playground: each screen and each of its states, and how the Playground is used. */

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
        'This request needs a hold of $0.021000; the API key has $0.004200 of its credit limit left. With `max_tokens` of at most 240 it fits.',
      code: 'key_limit_reached',
      param: null,
    },
  }),
  httpStatus: 402,
}

const EXPENSIVE = { object: 'hold_estimate', hold: 2_100_000, available: 1_400_000 }

/** The answer to the Playground, and the record of its request. */
function answerChat(server: StandIn, answer: StandInAnswer): void {
  server.answer('/playground/chat', answer)
  server.answer(`/requests/${ANSWER_ID}`, json({ ...REQUESTS[4], id: ANSWER_ID }))
}

async function ask(page: Page): Promise<void> {
  await page.getByLabel('System').fill('You are brief.')
  await sendByKeys(page, 'What tells a toll gate from a turnstile?')
}

const SCREENS: readonly Screen[] = [
  { name: 'connect', path: at('connect'), text: 'Any other client' },
  {
    name: 'connect-agent',
    path: `${at('connect')}?client=codex&model=openai/gpt-6-mini`,
    text: 'Put it into ~/.codex/config.toml.',
  },
  { name: 'playground', path: at('playground'), text: 'Stream the answer' },
  {
    name: 'playground-estimate',
    path: at('playground'),
    async act(page) {
      await page.getByLabel('Message').fill('What tells a toll gate from a turnstile?')
    },
    text: 'You pay only what the answer costs.',
  },
  {
    name: 'playground-too-expensive',
    path: at('playground'),
    before: (server) => server.answer('/playground/estimate', json(EXPENSIVE)),
    async act(page) {
      await page.getByLabel('Message').fill('What tells a toll gate from a turnstile?')
    },
    text: 'This needs a hold of',
  },
  {
    name: 'connect-picker',
    path: at('connect'),
    async act(page) {
      await page.locator('.pick').click()
      await page.getByRole('combobox', { name: 'Find a model' }).fill('mini')
    },
    text: '$0.42 → $1.68',
  },
  {
    name: 'playground-answered',
    path: at('playground'),
    before: (server) => answerChat(server, ANSWERED),
    act: ask,
    text: 'Charged $0.0185',
  },
  {
    name: 'playground-edited',
    path: at('playground'),
    before: (server) => answerChat(server, ANSWERED),
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
    before: (server) => answerChat(server, { kind: 'silence' }),
    act: ask,
    text: 'Answering',
  },
  {
    name: 'playground-refused',
    path: at('playground'),
    before: (server) => answerChat(server, REFUSED),
    act: ask,
    text: 'Raise the limit of “Playground”',
  },
]

testScreens(SCREENS)

test('a refusal names the output cap as its field does', async ({ page, server }) => {
  answerChat(server, REFUSED)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByText('With an output cap of at most 240 it fits.').waitFor()
  expect(await page.getByText('max_tokens').count()).toBe(0)
})

/** A gateway whose only model is answered in this format. */
function answerModels(server: StandIn, endpoint: string): void {
  const [model] = MODEL_LIST.data
  server.answer('/models', json({ data: [{ ...model, endpoints: [endpoint] }] }))
}

test('names in the notes of Connect are code', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('connect')}?client=openai-python`)
  await page
    .getByRole('listitem')
    .locator('code', { hasText: /^store$/ })
    .waitFor()
})

test('Connect shows only the clients that work with the chosen model', async ({ page, server }) => {
  answerModels(server, 'messages')
  await page.goto(`${server.address}/app/${at('connect')}?client=codex`)
  await page.getByRole('heading', { name: '2. Anthropic, TypeScript' }).waitFor()
  const clients = await page
    .getByRole('navigation', { name: 'Clients' })
    .getByRole('link')
    .allTextContents()
  expect(clients).toEqual(['Anthropic, TypeScript', 'Anthropic, Python', 'Claude Code'])
})

test.for([
  [
    'messages',
    { type: 'message', content: [{ type: 'text', text: 'Both.' }], stop_reason: 'end_turn' },
  ],
  ['responses', { object: 'response', output: [{ content: [{ text: 'Both.' }] }] }],
] as const)(
  'the Playground asks a model of %s in that format',
  async ([format, answer], { page, server }) => {
    answerModels(server, format)
    server.answer(`/playground/${format}`, json(answer))
    await page.goto(`${server.address}/app/${at('playground')}`)
    await ask(page)
    await page.getByText('Both.').waitFor()
  },
)

test('Ctrl and Enter send; stopping leaves the answer, and the text of the answer so far stays', async ({
  page,
  server,
}) => {
  answerChat(server, { kind: 'silence' })
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped before the answer started.').waitFor()
  await page.getByText('What tells a toll gate from a turnstile?').waitFor()
  answerChat(server, ANSWERED)
  await page.getByRole('button', { name: 'Send again from here' }).click()
  await page.getByText('Charged $0.0185').waitFor()
  await page.getByRole('link', { name: 'Open in Activity' }).click()
  await page.waitForURL((url) => url.searchParams.get('request') === ANSWER_ID)
})

test('each answer of a chat keeps its charge when the next one comes', async ({ page, server }) => {
  answerChat(server, ANSWERED)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByText('Charged $0.0185').waitFor()
  const laterId = REQUESTS[5]?.id ?? ''
  server.answer('/playground/chat', { ...ANSWERED, requestId: laterId })
  server.answer(`/requests/${laterId}`, json({ ...REQUESTS[4], id: laterId, charge: 21_000 }))
  await sendByKeys(page, 'And from a fence?')
  await page.getByText('Charged $0.0210').waitFor()
  const [first, second] = await page.getByRole('listitem').filter({ hasText: 'stops you' }).all()
  expect(await first?.textContent()).toContain('Charged $0.0185')
  // The charge of the latest answer is below the chat, with what to do about an error.
  expect(await second?.textContent()).not.toContain('Charged')
})

test('a charge whose cost is not known yet appears once it is', async ({
  ownPage: page,
  server,
}) => {
  server.answer('/playground/chat', ANSWERED)
  server.answer(`/requests/${ANSWER_ID}`, json({ ...REQUESTS[5], id: ANSWER_ID }))
  await page.clock.install({ time: NOW })
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByText('$0.0502 is held until its cost is known').waitFor()
  answerChat(server, ANSWERED)
  await page.clock.runFor(10_000)
  await page.getByText('Charged $0.0185').waitFor()
})

test('a message that is edited while an answer is under way keeps the edit', async ({
  page,
  server,
}) => {
  answerChat(server, ANSWERED)
  await page.goto(`${server.address}/app/${at('playground')}`)
  await ask(page)
  await page.getByText('Charged $0.0185').waitFor()
  await page.getByRole('button', { name: 'Edit the message' }).first().click()
  await page.getByLabel('Message of You').fill('Which gates take tolls in Norway?')
  server.answer('/playground/chat', { kind: 'silence' })
  await sendByKeys(page, 'And from a fence?')
  await page.getByText('Answering').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped before the answer started.').waitFor()
  await page.getByText('Which gates take tolls in Norway?').waitFor()
  expect(await page.getByText('What tells a toll gate from a turnstile?').count()).toBe(0)
  await page.getByText('And from a fence?').waitFor()
})

test('nothing of a prompt or an answer is in the address or the storage of the browser', async ({
  ownPage: page,
  server,
}) => {
  answerChat(server, ANSWERED)
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
  await page.getByText('a question').waitFor()
  expect(await page.getByText('turnstile').count()).toBe(0)
})

test('the Playground asks for the hold of a message after a pause in typing', async ({
  ownPage: page,
  server,
}) => {
  const estimates = () => server.asked.filter((asked) => asked.includes('/playground/estimate'))
  await page.clock.install({ time: NOW })
  await page.goto(`${server.address}/app/${at('playground')}`)
  const said = page.getByRole('region', { name: 'Conversation' }).locator('.hold')
  await page.getByLabel('Message').waitFor()
  // The page's time stands still while it is typed: on a busy machine no pause between two letters is long enough.
  await page.clock.pauseAt(new Date(NOW.getTime() + 600_000))
  await page.getByLabel('Message').pressSequentially('Hello')
  await page.clock.resume()
  await page.getByText('Holds up to').waitFor()
  expect(await said.textContent()).toBe(
    'Holds up to $0.0214 while it runs; $184.27 is available.You pay only what the answer costs.',
  )
  expect(estimates()).toEqual([`POST accounts/${HELIX.id}/playground/estimate?format=chat`])
  server.answer('/playground/estimate', json(EXPENSIVE))
  await page.getByLabel('Message').fill('Hello again')
  await page.getByText('This needs a hold').waitFor()
  expect(await said.textContent()).toBe(
    'This needs a hold of $2.10; $1.40 is available. Lower the output cap or add credit.',
  )
  expect(estimates()).toHaveLength(2)
  // A lower cap does not help where nothing is left.
  server.answer('/playground/estimate', json({ ...EXPENSIVE, available: 0 }))
  await page.getByLabel('Message').fill('Hello once more')
  await page.getByText('$0.00 is available.').waitFor()
  expect(await said.textContent()).toBe(
    'This needs a hold of $2.10; $0.00 is available. Add credit.',
  )
})
