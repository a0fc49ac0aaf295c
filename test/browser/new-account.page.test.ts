import { describe, expect } from 'vitest'
import { press, type Screen, testScreens } from './each-screen.ts'
import { test } from './page-test.ts'
import { EMPTY, json } from './stand-in.ts'
import { HELIX } from './stand-in-data.ts'
import { OVERVIEW } from './stand-in-overview.ts'

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

test.for([
  [EMPTY, 'owner'],
  [null, 'member'],
] as const)(
  'the first person who is invited to an account is its owner, and later ones are members',
  async ([members, role], { page, server }) => {
    if (members !== null) server.answer('/members', json(members))
    await page.goto(`${server.address}/app/${ONE}/members?invite=true`)
    await expect.poll(() => page.getByLabel('Role', { exact: true }).inputValue()).toBe(role)
  },
)

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

  test('is resumed with its debt in sight', async ({ page, server }) => {
    const suspended = { disabled: true, disabled_at: HELIX.created_at, disabled_note: null }
    const account = { ...HELIX, ...suspended, credit: owing(0) }
    server.answer(`/operator/accounts/${HELIX.id}`, json(account))
    await page.goto(`${server.address}/app/${ONE}`)
    await page.getByRole('button', { name: 'Resume account' }).click()
    await page.getByRole('dialog').getByText('The account owes $4.20').waitFor()
  })
})
