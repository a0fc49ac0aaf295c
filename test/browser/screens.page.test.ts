import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { openWindow } from './chromium.ts'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, type StandIn, silent } from './stand-in.ts'
import {
  at,
  FACTOR_NEEDED,
  FACTOR_REQUIRED,
  FACTORS,
  HELIX,
  KEYS,
  LINK_LOOK,
  ME,
  NO_FACTORS,
  NOW,
  PASSKEY_NEEDED,
  WITH_MAIL,
} from './stand-in-data.ts'

/** Keys, models, the profile and the doors: each screen and each of its states. */

/** Disables the first key, whose message stays as long as the pointer is on it. */
async function disableOne(page: Page, server: StandIn): Promise<void> {
  const [key] = KEYS
  server.answer(`PATCH /keys/${key?.id}`, json({ ...key, disabled: true }))
  for (const name of [`Actions for ${key?.name}`, 'Disable', 'Disable']) {
    await page.getByRole('button', { name, exact: true }).last().click()
  }
  await page.locator('.toast').hover()
}

const SCREENS: readonly Screen[] = [
  { name: 'keys', path: at('keys'), text: 'nightly evals' },
  ...answeredScreens({ path: at('keys'), pathEnd: '/keys' }, [
    ['keys-empty', json(EMPTY), 'No keys.'],
    ['keys-error', down, 'The keys could not be loaded.'],
    ['keys-loading', silent, 'Use it'],
  ]),
  {
    name: 'key-new',
    path: `${at('keys')}?create=true`,
    async act(page) {
      await page.getByLabel('Name', { exact: true }).fill('staging')
      await page.getByLabel('Credit limit').fill('50.00')
      await page.getByRole('button', { name: '90 days' }).click()
      await page.getByLabel('Name', { exact: true }).focus()
    },
    text: 'On 19 February 2027, 22:04 UTC. From then on, requests with the key are refused with api_key_expired.',
  },
  { name: 'key-disabled', path: at('keys'), act: disableOne, text: 'Key disabled.' },
  { name: 'key-menu', path: at('keys'), act: press('Actions for support bot'), text: 'Delete' },
  {
    name: 'key-delete',
    path: at('keys'),
    act: press('Actions for support bot', 'Delete'),
    text: 'Type support bot to delete it',
  },
  { name: 'models', path: at('models'), text: 'black-forest/' },
  {
    name: 'models-vendor',
    path: `${at('models')}?vendor=openai&sort=price&context=32000`,
    text: 'gpt-image-2',
  },
  { name: 'models-none', path: `${at('models')}?find=nothing`, text: 'No model matches.' },
  {
    name: 'model-open',
    path: `${at('models')}?model=openai/gpt-6-mini`,
    text: 'Prices per million tokens',
  },
  ...answeredScreens({ path: at('models'), pathEnd: '/models' }, [
    ['models-error', down, 'The models could not be loaded.'],
  ]),
  { name: 'profile', path: 'profile', text: 'Safari on iPhone' },
  ...answeredScreens({ path: 'profile', pathEnd: '/auth/factors' }, [
    ['profile-factors', json(FACTORS), '7 of 10 left'],
    ['profile-factors-error', down, 'The second factors could not be loaded.'],
    [
      'profile-no-passkeys',
      json({ ...NO_FACTORS, passkey_host: null }),
      'A passkey needs a host name in the address of the page',
    ],
  ]),
  ...answeredScreens({ path: 'profile', pathEnd: '/start' }, [
    ['profile-alerts', json(WITH_MAIL), 'Alerts by email'],
  ]),
  {
    name: 'factor-new',
    path: 'profile',
    async act(page) {
      await page.getByRole('button', { name: 'Set up an app' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Set up an app' }).click()
    },
    text: 'Scan this with the app, or type the secret into it.',
  },
  {
    name: 'passkey-new',
    path: 'profile',
    act: press('Add a passkey'),
    text: 'A passkey works only at this address',
  },
  {
    name: 'passkey-remove',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    act: press('Remove the passkey Safari on iPhone'),
    text: 'Other second factors are unchanged.',
  },
  {
    name: 'recovery-codes',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    act: press('Make new codes', 'Make ten codes'),
    text: 'Keep these ten codes away from your phone',
  },
  ...answeredScreens({ path: 'second-factor', pathEnd: '/start' }, [
    ['second-factor', json(FACTOR_NEEDED), 'Signing in as'],
    ['second-factor-passkey', json(PASSKEY_NEEDED), 'Use a passkey'],
  ]),
  ...answeredScreens({ path: 'set-up-second-factor', pathEnd: '/me' }, [
    [
      'set-up-second-factor',
      json(FACTOR_REQUIRED),
      'Operators of this gateway need one in addition to the password.',
    ],
  ]),
  { name: 'members', path: at('members'), text: 'noor@helix.example' },
  ...answeredScreens({ path: at('members'), pathEnd: '/invitations' }, [
    ['members-empty', json(EMPTY), 'No open invitations.'],
  ]),
  ...answeredScreens({ path: at('members'), pathEnd: '/members' }, [
    ['members-error', down, 'The members could not be loaded.'],
  ]),
  {
    name: 'member-invite',
    path: at('members'),
    async act(page) {
      await page.getByRole('button', { name: 'Invite' }).click()
      await page.getByLabel('Role', { exact: true }).selectOption('owner')
    },
    text: 'invites and removes members',
  },
  {
    name: 'member-remove',
    path: at('members'),
    act: press('Remove Jonas Lind'),
    text: 'Keys that Jonas Lind made belong to the account',
  },
  {
    name: 'menu',
    path: at('keys'),
    async act(page) {
      const more = page.getByRole('button', { name: 'More', exact: true })
      const user = page.getByRole('button', { name: 'Mira Okafor' })
      await more.or(user).filter({ visible: true }).click()
    },
    text: 'System',
  },
  {
    name: 'shortcuts',
    path: at('keys'),
    async act(page) {
      await page.getByText('nightly evals').waitFor()
      await page.keyboard.press('?')
    },
    text: 'Move to the search field',
  },
  ...answeredScreens({ path: 'sign-in', pathEnd: '/me' }, [
    ['sign-in', { ...down, httpStatus: 401 }, 'Password'],
  ]),
  {
    name: 'sign-in-by-mail',
    path: 'sign-in-by-mail',
    text: 'You get an email with a code and a link.',
  },
  { name: 'forgot', path: 'forgot', text: 'You get an email with a link.' },
  { name: 'sign-in-link', path: 'sign-in-link#a-token', text: 'You opened a link from an email.' },
  {
    name: 'invitation',
    path: 'invite#a-token',
    text: 'Olga Operator (olga@tidewater.example) invites you to Helix Lab as a member. This link expires on 28 Nov.',
  },
  {
    name: 'invitation-email',
    path: 'invite?email#a-token',
    act: async (page) =>
      expect(await page.getByLabel('Email').inputValue()).toBe('noor@helix.example'),
    text: 'You sign in with it.',
  },
  ...['invite', 'reset', 'sign-in-link'].map((path) => ({
    name: `${path}-used`,
    path: `${path}?used#a-token`,
    before: (server: StandIn) => server.answer('/look', json({ ...LINK_LOOK, usable: false })),
    text: 'Ask Olga Operator (olga@tidewater.example) for a new one.',
  })),
  ...answeredScreens({ path: 'setup#a-token', pathEnd: '/start' }, [
    ['setup', json({ ...WITH_MAIL, setup_needed: true }), 'Create the operator'],
  ]),
  ...answeredScreens({ path: 'sign-in', pathEnd: '/start' }, [
    [
      'sign-in-before-setup',
      json({ ...WITH_MAIL, signed_in: false, setup_needed: true }),
      /^Its address has \/app\/setup# in it\. The link is valid for 24 hours\./,
    ],
  ]),
  { name: 'setup-used', path: 'setup?used#a-token', text: 'tollgate is already set up.' },
  ...answeredScreens({ path: 'setup', pathEnd: '/start' }, [
    ['setup-without-token', json({ ...WITH_MAIL, setup_needed: true }), 'This link is incomplete.'],
  ]),
  {
    name: 'no-account',
    path: '',
    before(server) {
      server.answer('/me', json({ ...ME, accounts: [] }))
      server.answer('/operator/accounts', json(EMPTY))
    },
    text: 'Create an account',
  },
]

testScreens(SCREENS)

test('an operator who presses “Create account” twice makes one account', async ({
  page,
  server,
}) => {
  server.answer('/me', json({ ...ME, accounts: [] }))
  server.answer('/own-accounts', silent)
  await page.goto(`${server.address}/app/new-account`)
  await page.getByLabel('Name').fill('Second')
  await page.keyboard.press('Enter')
  await page.locator('button[aria-disabled=true]', { hasText: 'Create account' }).waitFor()
  const posts = () => server.asked.filter((one) => one.startsWith('POST'))
  await expect.poll(posts).toEqual(['POST operator/own-accounts'])
  await page.keyboard.press('Enter')
  // The page's next call comes after all calls that the key press caused.
  await page.evaluate((url) => fetch(url, { method: 'POST' }), `${server.address}/app/api/later`)
  expect(posts()).toEqual(['POST operator/own-accounts', 'POST later'])
})

test.for([true, false])(
  'a user without an account can sign out (operator: %s)',
  async (isOperator, { page, server }) => {
    const user = { ...ME.user, is_operator: isOperator }
    server.answer('/me', json({ ...ME, user, accounts: [] }))
    server.answer('/operator/accounts', json(EMPTY))
    await page.goto(`${server.address}/app/`)
    await page.getByText('Signed in as mira@helix.example.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${server.address}/app/sign-in**`)
    expect(server.asked.filter((one) => one.includes('sign-out'))).toHaveLength(1)
  },
)

test('the side bar has the number of keys on a page that reads no keys', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('connect')}`)
  await page.getByRole('link', { name: 'Keys 6' }).waitFor()
})

test('a sign-out that fails is reported', async ({ page, server }) => {
  server.answer('DELETE /sess_01kbh0c7x5qv3m9t2r8w6e0002', down)
  await page.goto(`${server.address}/app/profile`)
  await page.getByRole('button', { name: 'Sign out Safari on iPhone' }).click()
  await page.getByRole('alert').getByText('The store is busy.').waitFor()
})

test.for([
  [true, /here: set SMTP_URL, or invite the new address\.$/],
  [false, /here: ask the operator to invite the new address\.$/],
] as const)(
  'a server without email says how an address is changed (operator: %s)',
  async ([isOperator, text], { page, server }) => {
    server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: isOperator } }))
    await page.goto(`${server.address}/app/profile`)
    await page.getByText(text).waitFor()
  },
)

test('a role is written as in the side bar', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${at('members')}`)
  const roles = page.getByLabel('Role of Jonas Lind').locator('option')
  await roles.first().waitFor({ state: 'attached' })
  expect(await roles.allTextContents()).toEqual(['Member', 'Owner'])
  await page.locator('tr', { hasText: 'noor@helix.example' }).getByText('Member').waitFor()
  await page.goto(`${server.address}/app/profile`)
  await page.locator('tr', { hasText: 'Helix Lab' }).getByText('Owner', { exact: true }).waitFor()
})

test('a time whose text does not change is not drawn again as the seconds pass', async ({
  browser,
  server,
}) => {
  await using window = await openWindow(browser, { width: 'desk', theme: 'light' })
  await window.clock.install({ time: NOW })
  const page = await window.newPage()
  // React tells this hook of everything that it draws.
  await page.addInitScript(() => {
    Object.assign(globalThis, {
      drawings: 0,
      __REACT_DEVTOOLS_GLOBAL_HOOK__: {
        supportsFiber: true,
        inject: () => 1,
        onCommitFiberUnmount() {},
        onPostCommitFiberRoot() {},
        onCommitFiberRoot: () => Object.assign(globalThis, { drawings: drawings() + 1 }),
      },
    })
    const drawings = () => Number(Reflect.get(globalThis, 'drawings'))
  })
  const drawings = () => page.evaluate(() => Number(Reflect.get(globalThis, 'drawings')))
  await page.goto(`${server.address}/app/${HELIX.id}/members`)
  await page.getByText('Joined').first().waitFor()
  await page.getByText('Open invitations').waitFor()
  await window.clock.pauseAt(NOW.getTime() + 60_000)
  const before = await drawings()
  expect(before).toBeGreaterThan(0)
  await window.clock.runFor(30_000)
  // Answers that are read again meanwhile may be drawn.
  expect(await drawings()).toBeLessThan(before + 10)
})

test('on a phone, More shows an operator every page without scrolling', async ({
  pages,
  server,
}) => {
  const { page } = await pages.of('phone')
  await page.goto(`${server.address}/app/operator/accounts`)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  const menu = await page.getByRole('dialog', { name: 'More' }).boundingBox()
  const last = await page.getByRole('link', { name: 'Audit log' }).boundingBox()
  const bottomOf = (box: typeof menu) => (box === null ? Number.NaN : box.y + box.height)
  expect(bottomOf(last)).toBeLessThanOrEqual(bottomOf(menu))
})

test.for([at('keys'), at('models'), at('activity'), 'operator/activity', 'operator/purchases'])(
  'while %s is read, a laptop shows as many grey columns as heads',
  async (path, { pages, server }) => {
    for (const end of ['/keys', '/models', '/requests', '/operator/purchases']) {
      server.answer(end, silent)
    }
    const { page } = await pages.of('laptop')
    await page.goto(`${server.address}/app/${path}`)
    await page.locator('td .grey').first().waitFor()
    const shownIn = (row: string) =>
      page.locator(`table.cards ${row} > *`).filter({ visible: true })
    const heads = await shownIn('thead tr').count()
    expect([path, await shownIn('tbody tr:first-child').count()]).toEqual([path, heads])
  },
)

test('nothing moves for people who asked for less motion: not the theme, the palette, a message or what is live', async ({
  page,
  server,
}) => {
  const moving = () =>
    page.evaluate(
      () =>
        document
          .getAnimations()
          .filter(({ effect }) => Number(effect?.getComputedTiming().activeDuration) > 1).length,
    )
  await page.goto(`${server.address}/app/${at('activity')}`)
  await page.getByText('Unresolved').waitFor()
  expect(await moving()).toBe(0)
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  expect(await moving()).toBeGreaterThan(0)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.goto(`${server.address}/app/${at('keys')}`)
  await disableOne(page, server)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  expect(await moving()).toBe(0)
  const turned = await page.evaluate(() => {
    document.documentElement.dataset['theme'] = 'dark'
    // Asking for the animations brings the styles up to date.
    return document.getAnimations().filter((one) => one instanceof CSSTransition).length
  })
  expect(turned).toBe(0)
})
