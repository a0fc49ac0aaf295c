import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { openBrowser } from './chromium.ts'
import { type Screen, testScreens } from './each-screen.ts'
import { type StandIn, startStandIn } from './stand-in.ts'
import { HELIX, ME } from './stand-in-data.ts'
import { FIRST_OVERVIEW } from './stand-in-overview.ts'
import { REQUESTS } from './stand-in-requests.ts'
import { NO_USAGE, USAGE_BY_KEY, USAGE_OF_ONE } from './stand-in-usage.ts'

/** Each screen and each of its states, in both themes, on a desk, a tablet and a phone of 360 pixels. */

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

const EMPTY = { object: 'list', data: [], has_more: false, next_cursor: null }
const json = (body: unknown) => ({ kind: 'json', body }) as const
const down = { kind: 'refusal', httpStatus: 503, message: 'The store is busy.' } as const
const at = (section: string) => `${HELIX.id}/${section}`

const SCREENS: readonly Screen[] = [
  {
    name: 'overview',
    path: at('overview'),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'anthropic/claude-sonnet-5',
  },
  {
    name: 'overview-day',
    path: at('overview'),
    act: (page) => page.locator('.columns svg').hover({ position: { x: 200, y: 120 } }),
    text: /^\w{3} \d+ \w{3}$/,
  },
  {
    name: 'overview-first-day',
    path: at('overview'),
    before: () => server.answer('/overview', json(FIRST_OVERVIEW)),
    text: 'No requests yet',
  },
  {
    name: 'overview-error',
    path: at('overview'),
    before: () => server.answer('/overview', { ...down, httpStatus: 500 }),
    text: 'The overview could not be read.',
  },
  {
    name: 'overview-loading',
    path: at('overview'),
    before: () => server.answer('/overview', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Overview',
  },
  { name: 'activity', path: `${at('activity')}?range=1h`, text: 'Unresolved' },
  {
    name: 'activity-open',
    path: `${at('activity')}?range=1h&key=a&key=b&key=c&request=${REQUESTS[4]?.id}`,
    text: '$0.018530',
  },
  {
    name: 'activity-failed',
    path: `${at('activity')}?range=1h&request=${REQUESTS[8]?.id}`,
    text: 'upstream_error',
  },
  {
    name: 'activity-filter',
    path: at('activity'),
    act: (page) => page.getByRole('button', { name: 'Model' }).click(),
    text: 'black-forest/flux-3',
  },
  {
    name: 'activity-empty',
    path: at('activity'),
    before: () => server.answer('/requests', json(EMPTY)),
    text: 'No requests in the last 24 hours',
  },
  {
    name: 'activity-searching',
    path: `${at('activity')}?model=acme/rare`,
    before: () =>
      server.answer(
        '/requests',
        json({ ...EMPTY, next_cursor: 'more', searched_back_to: '2026-11-21T03:00:00.000Z' }),
      ),
    text: 'No request matches so far',
  },
  {
    name: 'activity-error',
    path: at('activity'),
    before: () => server.answer('/requests', { ...down, httpStatus: 500 }),
    text: 'The requests could not be read.',
  },
  {
    name: 'activity-loading',
    path: at('activity'),
    before: () => server.answer('/requests', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Activity',
  },
  {
    name: 'activity-stale',
    path: at('activity'),
    async act(page) {
      await page.getByText('Unresolved').waitFor()
      server.answer('/requests', { ...down, httpStatus: 500 })
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'usage',
    path: at('usage'),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'All 7 models',
  },
  {
    name: 'usage-one',
    path: `${at('usage')}?measure=tokens`,
    before: () => server.answer('/usage', json(USAGE_OF_ONE)),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'Tokens by day',
  },
  {
    name: 'usage-first-byte',
    path: `${at('usage')}?measure=p95`,
    act: (page) => page.locator('.columns svg').hover({ position: { x: 200, y: 120 } }),
    text: /^\w{3} \d+ \w{3}$/,
  },
  {
    name: 'usage-by-key',
    path: `${at('usage')}?by=key&measure=requests&range=7d&step=hour`,
    before: () => server.answer('/usage', json(USAGE_BY_KEY)),
    act: (page) => page.locator('.columns path').first().waitFor(),
    text: 'Pruned requests, keys known by day only',
  },
  {
    name: 'usage-menu',
    path: `${at('usage')}?range=7d`,
    act: (page) => page.getByRole('button', { name: 'Measure' }).click(),
    text: 'First byte, p95',
  },
  {
    name: 'usage-empty',
    path: at('usage'),
    before: () => server.answer('/usage', json(NO_USAGE)),
    text: 'No requests in this range',
  },
  {
    name: 'usage-error',
    path: at('usage'),
    before: () => server.answer('/usage', { ...down, httpStatus: 500 }),
    text: 'The usage could not be read.',
  },
  {
    name: 'usage-loading',
    path: at('usage'),
    before: () => server.answer('/usage', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Usage',
  },
  {
    name: 'usage-stale',
    path: at('usage'),
    async act(page) {
      await page.getByText('All 7 models').waitFor()
      server.answer('/usage', { ...down, httpStatus: 500 })
      await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'The store is busy.',
  },
  { name: 'keys', path: at('keys'), text: 'nightly evals' },
  {
    name: 'keys-empty',
    path: at('keys'),
    before: () => server.answer('/keys', json(EMPTY)),
    text: 'No keys yet',
  },
  {
    name: 'keys-error',
    path: at('keys'),
    before: () => server.answer('/keys', { ...down, httpStatus: 500 }),
    text: 'The keys could not be read.',
  },
  {
    name: 'keys-loading',
    path: at('keys'),
    before: () => server.answer('/keys', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Use it',
  },
  {
    name: 'key-new',
    path: `${at('keys')}?create=true`,
    async act(page) {
      await page.getByLabel('Name').fill('staging')
      await page.getByLabel('Credit limit').fill('50.00')
      await page.getByRole('button', { name: '90 days' }).click()
      await page.getByLabel('Name').focus()
    },
    text: 'On 19 February 2027, 22:04. From then on it is refused with api_key_expired.',
  },
  {
    name: 'key-menu',
    path: at('keys'),
    act: (page) => page.getByRole('button', { name: 'Actions for support bot' }).click(),
    text: 'Delete',
  },
  {
    name: 'key-delete',
    path: at('keys'),
    async act(page) {
      await page.getByRole('button', { name: 'Actions for support bot' }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
    },
    text: 'Type support bot to delete it',
  },
  { name: 'credit', path: at('credit'), text: 'invoice-1042' },
  {
    name: 'credit-purchases',
    path: `${at('credit')}?list=purchases`,
    text: 'Code redeemed',
  },
  {
    name: 'credit-empty',
    path: at('credit'),
    before: () => server.answer('/entries', json(EMPTY)),
    text: 'No entries yet',
  },
  {
    name: 'credit-no-purchases',
    path: `${at('credit')}?list=purchases`,
    before: () => server.answer('/purchases', json(EMPTY)),
    text: 'Nothing was bought yet',
  },
  {
    name: 'credit-entries-error',
    path: at('credit'),
    before: () => server.answer('/entries', { ...down, httpStatus: 500 }),
    text: 'The entries could not be read.',
  },
  {
    name: 'credit-redeem',
    path: `${at('credit')}?redeem=true`,
    text: 'Each code works once. Its credit is backed credit, which does not end.',
  },
  {
    name: 'credit-redeem-refused',
    path: at('credit'),
    before: () => server.answer('/redeem', { ...down, httpStatus: 429 }),
    async act(page) {
      await page.getByRole('button', { name: 'Redeem a code' }).click()
      await page.getByRole('textbox', { name: 'Code' }).fill('AAAAAA-BBBBBB-CCCCCC-DDDDDD')
      await page.getByRole('button', { name: 'Redeem', exact: true }).click()
    },
    text: 'The store is busy.',
  },
  {
    name: 'credit-redeemed',
    path: `${at('credit')}?redeem=true`,
    async act(page) {
      await page.getByRole('textbox', { name: 'Code' }).fill('AAAAAA-BBBBBB-CCCCCC-DDDDDD')
      await page.getByRole('button', { name: 'Redeem', exact: true }).click()
    },
    text: '$25.00 was added',
  },
  {
    name: 'credit-of-member',
    path: at('credit'),
    before: () =>
      server.answer('/me', json({ ...ME, accounts: [{ ...ME.accounts[0], role: 'member' }] })),
    text: 'invoice-1042',
  },
  {
    name: 'credit-error',
    path: at('credit'),
    before: () => server.answer('/balance', { ...down, httpStatus: 500 }),
    text: 'The balance could not be read.',
  },
  {
    name: 'credit-loading',
    path: at('credit'),
    before: () => server.answer('/entries', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Entries',
  },
  { name: 'models', path: at('models'), text: 'black-forest/' },
  { name: 'models-none', path: `${at('models')}?find=nothing`, text: 'No model has this name' },
  {
    name: 'models-error',
    path: at('models'),
    before: () => server.answer('/models', { ...down, httpStatus: 500 }),
    text: 'The models could not be read.',
  },
  { name: 'profile', path: at('profile'), text: 'Safari on iPhone' },
  {
    name: 'menu',
    path: at('keys'),
    async act(page) {
      const more = page.getByRole('button', { name: 'More', exact: true })
      const user = page.getByRole('button', { name: 'Mira Okafor' })
      await more.or(user).filter({ visible: true }).click()
    },
    text: 'As the device',
  },
  {
    name: 'shortcuts',
    path: at('keys'),
    async act(page) {
      await page.getByText('nightly evals').waitFor()
      await page.keyboard.press('?')
    },
    text: 'Find a request',
  },
  {
    name: 'sign-in',
    path: 'sign-in',
    before: () => server.answer('/me', { ...down, httpStatus: 401 }),
    text: 'Password',
  },
  { name: 'setup', path: 'setup#a-token', text: 'Create the operator' },
  { name: 'setup-without-token', path: 'setup', text: 'This link is not whole.' },
  {
    name: 'no-account',
    path: '',
    before() {
      server.answer('/me', json({ ...ME, accounts: [] }))
      server.answer('/operator/accounts', json(EMPTY))
    },
    text: 'Create an account',
  },
]

testScreens(SCREENS, { open: () => browser, address: () => server.address })
