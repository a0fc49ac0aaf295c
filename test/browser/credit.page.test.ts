import { type Screen, testScreens } from './each-screen.ts'
import { down, EMPTY, json } from './stand-in.ts'
import { HELIX, ME } from './stand-in-data.ts'

/** Credit: its screen and each of its states. */

const at = (section: string) => `${HELIX.id}/${section}`

const SCREENS: readonly Screen[] = [
  { name: 'credit', path: at('credit'), text: 'invoice-1042' },
  {
    name: 'credit-purchases',
    path: `${at('credit')}?list=purchases`,
    text: 'Code redeemed',
  },
  {
    name: 'credit-empty',
    path: at('credit'),
    before: (server) => server.answer('/entries', json(EMPTY)),
    text: 'No entries yet',
  },
  {
    name: 'credit-no-purchases',
    path: `${at('credit')}?list=purchases`,
    before: (server) => server.answer('/purchases', json(EMPTY)),
    text: 'Nothing was bought yet',
  },
  {
    name: 'credit-entries-error',
    path: at('credit'),
    before: (server) => server.answer('/entries', down),
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
    before: (server) => server.answer('/redeem', { ...down, httpStatus: 429 }),
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
    before: (server) =>
      server.answer('/me', json({ ...ME, accounts: [{ ...ME.accounts[0], role: 'member' }] })),
    text: 'invoice-1042',
  },
  {
    name: 'credit-error',
    path: at('credit'),
    before: (server) => server.answer('/balance', down),
    text: 'The balance could not be read.',
  },
  {
    name: 'credit-loading',
    path: at('credit'),
    before: (server) => server.answer('/entries', { kind: 'silence' }),
    act: (page) => page.locator('.grey').first().waitFor(),
    text: 'Entries',
  },
]

testScreens(SCREENS)
