import type { Page } from 'playwright-core'
import { answeredScreens, press, type Screen, testScreens } from './each-screen.ts'
import { down, EMPTY, json, type StandIn } from './stand-in.ts'
import { at, FACTORS, HELIX, KEYS, listOf, ME } from './stand-in-data.ts'
import { USERS } from './stand-in-desk.ts'
import { INVITATIONS, WEBHOOKS } from './stand-in-operator.ts'

/** Menus, and dialogs that ask before they act: those that the tests of their screens do not open. */

const [KEY] = KEYS
const SETTINGS = `operator/accounts/${HELIX.id}/settings`
const [WEBHOOK] = WEBHOOKS

function makeKeys(server: StandIn): void {
  const made = json({ ...KEY, name: 'staging', key: 'sk-tollgate-Hq2TgV8yN4dZsKxR7mBwUcPj' })
  server.answer('POST /keys', made)
  server.answer('/rotate', made)
}

async function createKey(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('staging')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('The new key').waitFor()
}

/** Opens another section by the keys, which the bars of every window have. */
async function leaveForCredit(page: Page): Promise<void> {
  await page.keyboard.press('g')
  await page.keyboard.press('c')
}

const ACCOUNT_SCREENS: readonly Screen[] = [
  {
    name: 'switcher',
    path: at('keys'),
    act: press('switch'),
    text: 'Operator: all accounts',
  },
  {
    name: 'switcher-of-many',
    path: at('keys'),
    before(server) {
      const [own] = ME.accounts
      const accounts = Array.from({ length: 9 }, (_, place) => ({
        ...own,
        id: place === 0 ? HELIX.id : `${HELIX.id.slice(0, -1)}${place}`,
        name: `Helix Lab ${place}`,
      }))
      server.answer('/me', json({ ...ME, accounts }))
    },
    async act(page) {
      await page.getByRole('button', { name: 'switch' }).click()
      await page.getByPlaceholder('Search accounts').fill('lab 7')
    },
    text: 'Helix Lab 7',
  },
  {
    name: 'key-made',
    path: `${at('keys')}?create=true`,
    before: makeKeys,
    act: createKey,
    text: 'Key “staging” is ready',
  },
  {
    name: 'key-not-copied',
    path: `${at('keys')}?create=true`,
    before: makeKeys,
    async act(page) {
      await createKey(page)
      await page.getByRole('button', { name: 'Done' }).focus()
      await leaveForCredit(page)
    },
    text: 'It cannot be shown again.',
  },
  {
    name: 'key-rotate',
    path: at('keys'),
    act: press(`Actions for ${KEY?.name}`, 'Rotate'),
    text: 'Keep the current key working',
  },
  {
    name: 'key-rotated',
    path: at('keys'),
    before: makeKeys,
    act: press(`Actions for ${KEY?.name}`, 'Rotate', 'Rotate key'),
    text: 'Key “staging” is ready',
  },
  {
    name: 'key-disable',
    path: at('keys'),
    act: press(`Actions for ${KEY?.name}`, 'Disable'),
    text: `Disable “${KEY?.name}”?`,
  },
  {
    name: 'key-discard',
    path: `${at('keys')}?create=true`,
    async act(page) {
      await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('staging')
      await page.keyboard.press('Escape')
    },
    text: 'Discard what you typed?',
  },
  ...answeredScreens({ path: `${at('keys')}?find=zzz`, pathEnd: '/keys' }, [
    ['keys-none', json(EMPTY), 'No key matches “zzz”.'],
  ]),
  {
    name: 'member-invited',
    path: at('members'),
    before(server) {
      const url = `${server.address}/app/invite#a-token`
      server.answer('POST /invitations', json({ ...INVITATIONS[0], email: 'ida@x.example', url }))
    },
    async act(page) {
      await page.getByRole('button', { name: 'Invite' }).click()
      await page.getByLabel('Email').fill('ida@x.example')
      await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
    },
    text: 'An invitation for ida@x.example is ready',
  },
  {
    name: 'member-no-owner',
    path: at('members'),
    before: (server) =>
      server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: false } })),
    act: async (page) => {
      await page.getByLabel(`Role of ${ME.user.name}`).selectOption('member')
    },
    text: 'Stop being an owner?',
  },
  {
    name: 'invitation-withdraw',
    path: at('members'),
    act: press('Withdraw the invitation for'),
    text: 'The invitation link no longer works.',
  },
  { name: 'model-gone', path: `${at('models')}?model=acme/gone`, text: 'It may have left' },
  ...answeredScreens({ path: at('models'), pathEnd: '/models' }, [
    ['models-empty', json(EMPTY), 'The catalog is empty.'],
  ]),
  { name: 'credit-billing', path: `${at('credit')}?open=billing`, text: 'Billing details' },
]

const PROFILE_SCREENS: readonly Screen[] = [
  {
    name: 'account-leave',
    path: 'profile',
    act: press(`Leave ${HELIX.name}`),
    text: 'You lose access to this account at once',
  },
  {
    name: 'recovery-codes-renew',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    act: press('Make new codes'),
    text: 'Earlier recovery codes no longer work.',
  },
  {
    name: 'recovery-codes-not-copied',
    path: 'profile',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
    async act(page) {
      await press('Make new codes', 'Make ten codes')(page)
      await page.getByText('Keep these ten codes away from your phone').waitFor()
      await page.keyboard.press('Escape')
    },
    text: 'They cannot be shown again.',
  },
]

const OPERATOR_SCREENS: readonly Screen[] = [
  {
    name: 'op-operator-invited',
    path: 'operator/operators',
    before(server) {
      const url = `${server.address}/app/invite#a-token`
      const made = { ...INVITATIONS[0], email: 'ida@x.example', url }
      server.answer('POST /operator/invitations', json(made))
    },
    async act(page) {
      await page.getByRole('button', { name: 'Invite an operator' }).click()
      await page.getByLabel('Email').fill('ida@x.example')
      await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
    },
    text: 'An invitation for ida@x.example is ready',
  },
  {
    name: 'op-operator-remove',
    path: 'operator/operators',
    before(server) {
      const operators = USERS.map((user) => ({ ...user, is_operator: true }))
      server.answer('/operator/users', json(listOf(operators)))
    },
    act: press('Remove Jonas Lind'),
    text: 'as an operator?',
  },
  {
    name: 'op-invitation-withdraw',
    path: 'operator/operators',
    act: (page) => page.getByRole('button', { name: 'Withdraw' }).first().click(),
    text: 'The invitation link no longer works.',
  },
  ...answeredScreens({ path: 'operator/operators', pathEnd: '/operator/users' }, [
    ['op-operators-error', down, 'The operators could not be loaded.'],
  ]),
  {
    name: 'op-settings-not-saved',
    path: SETTINGS,
    async act(page) {
      await page.getByLabel('Low-credit alert').fill('50')
      await page.getByRole('link', { name: 'Members' }).click()
    },
    text: 'Leave without saving?',
  },
  {
    name: 'op-resume',
    path: `operator/accounts/${HELIX.id}`,
    before(server) {
      const since = { disabled_at: HELIX.created_at, disabled_note: 'Unpaid.' }
      const suspended = { ...HELIX, disabled: true, ...since }
      server.answer(`/operator/accounts/${HELIX.id}`, json(suspended))
    },
    act: press('Resume account'),
    text: 'Resume Helix Lab?',
  },
  {
    name: 'op-webhook-change',
    path: `operator/webhooks/${WEBHOOK?.id}`,
    act: press('Change'),
    text: 'Change webhook',
  },
  {
    name: 'op-activity-accounts',
    path: `operator/activity?account=${HELIX.id}`,
    act: press('Account'),
    text: 'All accounts',
  },
  {
    name: 'op-usage-menu',
    path: 'operator/usage?by=upstream',
    act: (page) => page.getByRole('button', { name: 'By: ' }).first().click(),
    text: 'Endpoint',
  },
  {
    name: 'op-audit-log-kinds',
    path: 'operator/audit-log',
    act: press('Kind'),
    text: 'Key created',
  },
]

testScreens([...ACCOUNT_SCREENS, ...PROFILE_SCREENS, ...OPERATOR_SCREENS])
