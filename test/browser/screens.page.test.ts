import { expect } from 'vitest'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json, type StandIn } from './stand-in.ts'
import {
  FACTOR_NEEDED,
  FACTOR_REQUIRED,
  FACTORS,
  HELIX,
  LINK_LOOK,
  ME,
  NO_FACTORS,
  PASSKEY_NEEDED,
  WITH_MAIL,
} from './stand-in-data.ts'

/** Keys, models, the profile and the doors: each screen and each of its states. */

const at = (section: string) => `${HELIX.id}/${section}`

const SCREENS: readonly Screen[] = [
  { name: 'keys', path: at('keys'), text: 'nightly evals' },
  {
    name: 'keys-empty',
    path: at('keys'),
    before: (server) => server.answer('/keys', json(EMPTY)),
    text: 'No keys yet',
  },
  {
    name: 'keys-error',
    path: at('keys'),
    before: (server) => server.answer('/keys', down),
    text: 'The keys could not be loaded.',
  },
  {
    name: 'keys-loading',
    path: at('keys'),
    before: (server) => server.answer('/keys', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Use it',
  },
  {
    name: 'key-new',
    path: `${at('keys')}?create=true`,
    async act(page) {
      await page.getByLabel('Name', { exact: true }).fill('staging')
      await page.getByLabel('Credit limit').fill('50.00')
      await page.getByRole('button', { name: '90 days' }).click()
      await page.getByLabel('Name', { exact: true }).focus()
    },
    text: 'On 19 February 2027, 22:04. From then on, requests with the key are refused with api_key_expired.',
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
  {
    name: 'models-error',
    path: at('models'),
    before: (server) => server.answer('/models', down),
    text: 'The models could not be loaded.',
  },
  { name: 'profile', path: 'profile', text: 'Safari on iPhone' },
  {
    name: 'profile-factors',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    text: '7 of 10 left',
  },
  {
    name: 'profile-alerts',
    path: 'profile',
    before: (server) => server.answer('/start', json(WITH_MAIL)),
    text: 'Alerts by email',
  },
  {
    name: 'profile-factors-error',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', down),
    text: 'The second factors could not be loaded.',
  },
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
    act: (page) => page.getByRole('button', { name: 'Add a passkey' }).click(),
    text: 'A passkey works only at this address',
  },
  {
    name: 'passkey-remove',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    act: (page) =>
      page.getByRole('button', { name: 'Remove the passkey Safari on iPhone' }).click(),
    text: 'Other second factors are unchanged.',
  },
  {
    name: 'profile-no-passkeys',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json({ ...NO_FACTORS, passkey_host: null })),
    text: 'A passkey needs a host name in the address of the page',
  },
  {
    name: 'recovery-codes',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    async act(page) {
      await page.getByRole('button', { name: 'Make new codes' }).click()
      await page.getByRole('button', { name: 'Make ten codes' }).click()
    },
    text: 'Keep these ten codes away from your phone',
  },
  {
    name: 'second-factor',
    path: 'second-factor',
    before: (server) => server.answer('/start', json(FACTOR_NEEDED)),
    text: 'Signing in as',
  },
  {
    name: 'second-factor-passkey',
    path: 'second-factor',
    before: (server) => server.answer('/start', json(PASSKEY_NEEDED)),
    text: 'Use a passkey',
  },
  {
    name: 'set-up-second-factor',
    path: 'set-up-second-factor',
    before: (server) => server.answer('/me', json(FACTOR_REQUIRED)),
    text: 'Operators of this gateway need one in addition to the password.',
  },
  { name: 'members', path: at('members'), text: 'noor@helix.example' },
  {
    name: 'members-empty',
    path: at('members'),
    before: (server) => server.answer('/invitations', json(EMPTY)),
    text: 'None.',
  },
  {
    name: 'members-error',
    path: at('members'),
    before: (server) => server.answer('/members', down),
    text: 'The members could not be loaded.',
  },
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
    act: (page) => page.getByRole('button', { name: 'Remove Jonas Lind' }).click(),
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
  {
    name: 'sign-in',
    path: 'sign-in',
    before: (server) => server.answer('/me', { ...down, httpStatus: 401 }),
    text: 'Password',
  },
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
    text: 'Olga Operator invites you to Helix Lab as a member. This link expires on 28 Nov.',
  },
  ...['invite', 'reset', 'sign-in-link'].map((path) => ({
    name: `${path}-used`,
    path: `${path}?used#a-token`,
    before: (server: StandIn) => server.answer('/look', json({ ...LINK_LOOK, usable: false })),
    text: 'Ask Olga Operator for a new one.',
  })),
  {
    name: 'setup',
    path: 'setup#a-token',
    before: (server) => server.answer('/start', json({ ...WITH_MAIL, setup_needed: true })),
    text: 'Create the operator',
  },
  { name: 'setup-used', path: 'setup?used#a-token', text: 'tollgate is already set up.' },
  {
    name: 'setup-without-token',
    path: 'setup',
    before: (server) => server.answer('/start', json({ ...WITH_MAIL, setup_needed: true })),
    text: 'This link is incomplete.',
  },
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

test('a change of theme moves nothing for people who asked for less motion', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByText('nightly evals').waitFor()
  const moving = await page.evaluate(() => {
    document.documentElement.dataset['theme'] = 'dark'
    // Asking for the animations brings the styles up to date.
    return document.getAnimations().filter((one) => one instanceof CSSTransition).length
  })
  expect(moving).toBe(0)
})
