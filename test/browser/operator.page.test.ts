import { expect } from 'vitest'
import { type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { HELIX, ME } from './stand-in-data.ts'
import { UNSETTLED } from './stand-in-operator.ts'

/** The desk of operators: each screen and each of its states. */

const at = (section: string) => `operator/${section}`
const ONE = at(`accounts/${HELIX.id}`)

const SCREENS: readonly Screen[] = [
  { name: 'op-accounts', path: at('accounts'), text: 'Night Shift' },
  {
    name: 'op-accounts-empty',
    path: at('accounts'),
    before: (server) => server.answer('/operator/accounts', json(EMPTY)),
    text: 'An account holds credit and API keys.',
  },
  {
    name: 'op-accounts-none',
    path: `${at('accounts')}?search=zzz`,
    before: (server) => server.answer('/operator/accounts', json(EMPTY)),
    text: 'No account matches “zzz”.',
  },
  {
    name: 'op-accounts-in-debt',
    path: `${at('accounts')}?state=in_debt`,
    before: (server) => server.answer('/operator/accounts', json(EMPTY)),
    text: 'No account is in debt.',
  },
  {
    name: 'op-accounts-error',
    path: at('accounts'),
    before: (server) => server.answer('/operator/accounts', down),
    text: 'The accounts could not be loaded.',
  },
  {
    name: 'op-accounts-loading',
    path: at('accounts'),
    before: (server) => server.answer('/operator/accounts', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Create account',
  },
  {
    name: 'op-accounts-stale',
    path: at('accounts'),
    async act(page, server) {
      await page.getByText('Night Shift').first().waitFor()
      server.answer('/operator/accounts', down)
      // What is shown is read again when its window is come back to.
      await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
    },
    text: 'As of 22:04: The store is busy.',
  },
  {
    name: 'op-account-new',
    path: `${at('accounts')}?create=true`,
    act: (page) => page.getByLabel('Name', { exact: true }).fill('Quay'),
    text: 'Email',
  },
  { name: 'op-account', path: ONE, text: 'jonas@helix.example' },
  {
    name: 'op-account-lists-empty',
    path: ONE,
    before(server) {
      for (const end of [
        '/keys',
        '/operator/requests',
        '/entries',
        '/members',
        '/operator/actions',
      ]) {
        server.answer(end, json(EMPTY))
      }
    },
    text: 'No requests yet',
  },
  {
    name: 'op-account-error',
    path: ONE,
    before: (server) => server.answer(`/operator/accounts/${HELIX.id}`, down),
    text: 'The account could not be loaded.',
  },
  {
    name: 'op-account-loading',
    path: ONE,
    before: (server) => server.answer(`/operator/accounts/${HELIX.id}`, { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Keys',
  },
  {
    name: 'op-grant',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByLabel('Amount').fill('25')
      await page.getByLabel('Reference').fill('invoice-1043')
    },
    text: 'Then it has $209.27 available of $212.06.',
  },
  {
    name: 'op-grant-free',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByRole('button', { name: 'Free' }).click()
      await page.getByLabel('Amount').fill('2.50')
    },
    text: /Then it has \$7.50, all of it until 21 Dec 2026/,
  },
  {
    name: 'op-chargeback',
    path: ONE,
    async act(page) {
      await page.getByRole('button', { name: 'Remove' }).click()
      await page.getByLabel('Amount').fill('200')
    },
    text: /goes from \$187.06 to −\$12.94; \$2.79 of it is held. Nothing is available then/,
  },
  {
    name: 'op-suspend',
    path: ONE,
    async act(page) {
      await page.getByText('coding agents').first().waitFor()
      await page.getByRole('button', { name: 'Suspend' }).click()
    },
    text: /Its 6 keys are refused at once/,
  },
  {
    name: 'op-password',
    path: ONE,
    before: (server) => server.answer('/credit', { ...PASSWORD_FIRST, httpStatus: 403 }),
    async act(page) {
      await page.getByRole('button', { name: 'Add credit' }).click()
      await page.getByLabel('Amount').fill('25')
      await page.getByLabel('Reference').fill('invoice-1043')
      await page.getByRole('button', { name: 'Add $25.00' }).click()
    },
    text: 'This change needs your password, because you last entered it more than ten minutes ago.',
  },
]

const PASSWORD_FIRST = json({
  error: { message: 'Enter your password again first.', code: 'sign_in_again', param: null },
})

testScreens(SCREENS)

test('a grant whose sign-in is too long ago asks for the password and is then sent again', async ({
  page,
  server,
}) => {
  server.answer('/credit', { ...PASSWORD_FIRST, httpStatus: 403 })
  server.answer('/auth/confirm', json({ object: 'confirmed' }))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('button', { name: 'Add credit' }).click()
  await page.getByLabel('Amount').fill('25')
  await page.getByLabel('Reference').fill('invoice-1043')
  await page.getByRole('button', { name: 'Add $25.00' }).click()
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse battery')
  server.answer('/credit', json({ object: 'entry' }))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('dialog', { name: 'Add credit' }).waitFor({ state: 'detached' })
  const sent = server.asked.filter((call) => call.startsWith('POST'))
  const grant = `POST operator/accounts/${HELIX.id}/credit`
  expect(sent).toEqual([grant, 'POST auth/confirm', grant])
})

test('an operator without an account of its own is led to the desk', async ({ page, server }) => {
  server.answer('/me', json({ ...ME, accounts: [] }))
  await page.goto(`${server.address}/app/`)
  await page.getByRole('heading', { name: 'Accounts' }).waitFor()
  await page.getByText('Night Shift').first().waitFor()
})

test('the switcher leads operators alone to their pages', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByRole('button', { name: 'Helix Lab' }).click()
  await page.getByRole('link', { name: 'Operator' }).click()
  await page.getByRole('heading', { name: 'Accounts' }).waitFor()
  server.answer('/me', json({ ...ME, user: { ...ME.user, is_operator: false } }))
  await page.goto(`${server.address}/app/${HELIX.id}/keys`)
  await page.getByRole('link', { name: 'Keys' }).first().waitFor()
  await page.getByRole('button', { name: 'Helix Lab' }).click()
  await page.getByRole('link', { name: 'Night Shift' }).waitFor()
  expect(await page.getByRole('link', { name: 'Operator' }).count()).toBe(0)
})

test('the side bar counts what waits for its cost, and shows no count of nothing', async ({
  page,
  server,
}) => {
  const link = page.getByRole('link', { name: 'Unsettled' })
  await page.goto(`${server.address}/app/operator/accounts`)
  await link.locator('.count').waitFor()
  expect(await link.textContent()).toBe(`Unsettled${UNSETTLED.length}`)
  const asked = () => server.asked.filter((call) => call.includes('operator/unsettled')).length
  const before = asked()
  server.answer('/operator/unsettled', json(EMPTY))
  await page.goto(`${server.address}/app/operator/accounts`)
  await expect.poll(asked).toBeGreaterThan(before)
  await page.getByText('Night Shift').first().waitFor()
  expect(await link.locator('.count').count()).toBe(0)
})
