import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { EMPTY, json, type StandIn, silent } from './stand-in.ts'
import { HELIX, listOf, ME } from './stand-in-data.ts'
import { INVITATIONS } from './stand-in-operator.ts'
import { FIRST_OVERVIEW, OVERVIEW } from './stand-in-overview.ts'

/** The account of a new customer, for operators: what is not there yet, and a debt. */

const ONE = `operator/accounts/${HELIX.id}`
const OWED = { balance: -4_200_000, held: 0, available: 0 }

const SCREENS: readonly Screen[] = [
  {
    name: 'op-account-without-keys',
    path: ONE,
    before(server) {
      server.answer('/overview', json({ ...OVERVIEW, keys: [] }))
      server.answer('/keys', json(EMPTY))
      server.answer('/requests', json(EMPTY))
    },
    text: 'invite an owner',
  },
  {
    name: 'op-give-free-credit',
    path: ONE,
    act: press('More actions', 'Give free credit'),
    text: 'Unspent free credit is then lost.',
  },
]

testScreens(SCREENS)

test('free credit is given in a dialog that says so', async ({ page, server }) => {
  await page.goto(`${server.address}/app/${ONE}`)
  await press('More actions', 'Give free credit')(page)
  const dialog = page.getByRole('dialog', { name: 'Give free credit' })
  await dialog.getByLabel('Amount').fill('5')
  await dialog.getByRole('button', { name: 'Give $5.00' }).waitFor()
  await dialog.getByRole('button', { name: 'Paid' }).click()
  await page.getByRole('dialog', { name: 'Add credit' }).waitFor()
})

const NO_KEYS = 'an account whose keys were deleted has no keys, and a hint at earlier requests'

test(NO_KEYS, async ({ page, server }) => {
  server.answer('/overview', json({ ...OVERVIEW, keys: [] }))
  server.answer('/keys', json(EMPTY))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('heading', { name: 'No keys.' }).waitFor()
  await page.getByText('Choose a longer period to see earlier requests.').waitFor()
})

test('an account without requests is not asked to choose a longer period', async ({
  page,
  server,
}) => {
  server.answer('/overview', json({ ...OVERVIEW, keys: [] }))
  server.answer('/requests', json(EMPTY))
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('heading', { name: 'No key was used in this period.' }).waitFor()
  expect(await page.getByText('Choose a longer period').count()).toBe(0)
})

test('nothing says that no key was used before the keys are read', async ({ page, server }) => {
  server.answer('/overview', json({ ...OVERVIEW, keys: [] }))
  server.answer('/keys', silent)
  await page.goto(`${server.address}/app/${ONE}`)
  await page.getByRole('link', { name: 'All keys' }).waitFor()
  expect(await page.getByText('No key was used').count()).toBe(0)
})

const invited = (role: 'owner' | 'member') => ({
  ...EMPTY,
  data: INVITATIONS.map((one) => ({ ...one, role })),
})

test.for([
  ['without members or invitations', 'owner', EMPTY, EMPTY],
  ['with an open invitation of an owner', 'member', EMPTY, invited('owner')],
  ['with an open invitation of a member', 'owner', EMPTY, invited('member')],
  ['with members', 'member', null, EMPTY],
] as const)(
  'a person who is invited to an account %s is by default its %s',
  async ([, role, members, invitations], { page, server }) => {
    if (members !== null) server.answer('/members', json(members))
    server.answer('/invitations', json(invitations))
    await page.goto(`${server.address}/app/${ONE}/members?invite=true`)
    expect(await page.getByLabel('Role', { exact: true }).inputValue()).toBe(role)
  },
)

test('the role of an invitation can be picked once members and invitations are read', async ({
  page,
  server,
}) => {
  server.answer('/invitations', silent)
  await page.goto(`${server.address}/app/${ONE}/members?invite=true`)
  const dialog = page.getByRole('dialog', { name: 'Invite a person' })
  await dialog.getByLabel('Email').waitFor()
  expect(await dialog.getByLabel('Role').count()).toBe(0)
  expect(await dialog.getByRole('button', { name: 'Invite' }).isDisabled()).toBe(true)
})

describe('an account in debt', () => {
  const owing = (freeMicros: number) => ({
    backed: OWED,
    free: { ...HELIX.credit.free, balance: freeMicros, available: freeMicros },
  })

  test.for([
    [0, 'Requests are refused until credit is added.'],
    [5_000_000, 'Requests that need paid credit are refused until credit is added.'],
  ] as const)(
    'with %i micro-dollars of free credit says which requests are refused',
    async ([freeMicros, words], { page, server }) => {
      server.answer(`/accounts/${HELIX.id}`, json({ ...HELIX, credit: owing(freeMicros) }))
      for (const path of [`${ONE}/keys`, `${HELIX.id}/keys`]) {
        await page.goto(`${server.address}/app/${path}`)
        const band = page.getByRole('region', { name: 'Debt' })
        await band.getByText(words).waitFor()
      }
    },
  )

  test.for(['desk', 'tablet', 'phone'] as const)(
    'has “Add credit” once on its Overview, in the band (%s)',
    async (width, { pages, server }) => {
      const { page } = await pages.of(width)
      const credit = { ...OVERVIEW.credit, ...owing(0), available: 0 }
      for (const unused of [
        {},
        { figures: FIRST_OVERVIEW.figures, before: FIRST_OVERVIEW.before },
      ]) {
        server.answer(`/accounts/${HELIX.id}`, json({ ...HELIX, credit }))
        server.answer('/overview', json({ ...OVERVIEW, ...unused, credit }))
        await page.goto(`${server.address}/app/${HELIX.id}/overview`)
        const add = page.getByRole('link', { name: 'Add credit' }).filter({ visible: true })
        await page.getByRole('region', { name: 'Debt' }).and(page.locator(':has(a)')).waitFor()
        await page.getByText('Available credit').waitFor()
        expect(await add.count()).toBe(1)
      }
    },
  )

  test('is resumed with its debt in sight', async ({ page, server }) => {
    const suspended = { disabled: true, disabled_at: HELIX.created_at, disabled_note: null }
    const account = { ...HELIX, ...suspended, credit: owing(0) }
    server.answer(`/operator/accounts/${HELIX.id}`, json(account))
    await page.goto(`${server.address}/app/${ONE}`)
    await page.getByRole('button', { name: 'Resume account' }).click()
    await page.getByRole('dialog').getByText('The account owes $4.20').waitFor()
  })
})

/** Creates the first account of an operator, by its form. */
async function createFirst(page: Page, server: StandIn): Promise<void> {
  server.answer('/me', json({ ...ME, accounts: [] }))
  server.answer('GET /operator/accounts', json(EMPTY))
  await page.goto(`${server.address}/app/`)
  await page.getByLabel('Name').fill(HELIX.name)
  server.answer('/me', json(ME))
  server.answer('GET /operator/accounts', json(listOf([HELIX])))
  server.answer('POST /operator/own-accounts', json(HELIX))
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('button', { name: 'Helix Lab' }).waitFor()
}

test('Back does not lead to the form of the first account, which would create another one', async ({
  page,
  server,
}) => {
  await createFirst(page, server)
  await page.goBack()
  expect(page.url()).not.toContain('/new-account')
})

test('the first account of an operator is counted in the side bar', async ({ page, server }) => {
  await createFirst(page, server)
  await page.getByRole('button', { name: 'Helix Lab' }).click()
  await page.getByRole('link', { name: 'Operator: all accounts' }).click()
  await page.getByRole('link', { name: 'Accounts 1', exact: true }).waitFor()
})
