import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { tollgate } from '../tollgate-process.ts'
import { expectGoodPage } from './chromium.ts'
import {
  PASSWORD,
  type PageGateway,
  sendSetup,
  servePage,
  setupLink,
  signIn,
} from './on-gateway.ts'
import { test as inBrowser } from './page-test.ts'

/** A second factor from its setup to its loss, on a gateway that requires one of operators. */

const test = inBrowser.extend(
  'gateway',
  // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
  async ({}, { onCleanup }): Promise<PageGateway> =>
    servePage({ TOLLGATE_OPERATOR_SECOND_FACTOR: 'required' }, onCleanup),
)

/** Ada becomes the first operator: the page asks her for a second factor. */
async function become(page: Page, link: string): Promise<void> {
  await sendSetup(page, link)
  await page.getByText('Set up a second factor').waitFor()
}

/** The first operator is at the operator's Home, where the setup leads. */
async function atHome(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
}

/** Scans the QR code, as far as a test can: its secret stands below. */
async function scan(page: Page): Promise<TOTP> {
  const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? ''
  return new TOTP({ secret })
}

/** The app's code of the next 30 seconds, which was not shown yet. */
function nextCode(app: TOTP): string {
  return app.generate({ timestamp: Date.now() + 30_000 })
}

async function beAsked(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await signIn(page)
  await page.getByLabel('Code').waitFor()
}

test('an operator sets up an app, signs in with it and with a recovery code, and loses both', async ({
  newPage,
  gateway,
}) => {
  const desk = await newPage()
  await become(desk, setupLink(gateway))
  await expectGoodPage(desk)
  await desk.getByRole('button', { name: 'Set up an app' }).click()
  await desk.getByLabel('Code').and(desk.locator(':focus')).waitFor()
  await desk.getByLabel('Code').fill('000000')
  const app = await scan(desk)
  await desk.getByRole('button', { name: 'Turn on' }).click()
  await desk.getByText('Incorrect or already used code.').waitFor()
  await expectGoodPage(desk)
  await desk.getByLabel('Code').fill(app.generate())
  await desk.getByRole('button', { name: 'Turn on' }).click()
  const kept = desk.getByRole('button', { name: 'I saved the codes' })
  await kept.waitFor()
  const codes = await desk
    .getByRole('list', { name: 'Recovery codes' })
    .locator('li')
    .allTextContents()
  expect(codes).toHaveLength(10)
  await expectGoodPage(desk)
  await kept.click()
  await atHome(desk)
  const signInAddress = new URL('/app/sign-in', desk.url()).href

  const phone = await newPage({ width: 'phone' })
  await beAsked(phone, signInAddress)
  await expectGoodPage(phone)
  await phone.goto(desk.url())
  await phone.getByText('Signing in as ada@example.org').waitFor()
  for (let wrong = 1; wrong <= 4; wrong++) {
    await phone.getByLabel('Code').fill(`00000${wrong}`)
    await phone.getByRole('button', { name: 'Sign in' }).click()
    await phone.getByText('Incorrect or already used code.').waitFor()
  }
  await phone.getByLabel('Code').fill(nextCode(app))
  await phone.getByRole('button', { name: 'Sign in' }).click()
  await atHome(phone)

  await desk.getByRole('button', { name: /Ada Lovelace/ }).click()
  await desk.getByRole('link', { name: 'Profile' }).click()
  await desk.getByText('10 of 10 left').waitFor()
  await expectGoodPage(desk)

  const lost = await newPage()
  await beAsked(lost, signInAddress)
  await lost.getByLabel('Code').fill(codes[0] ?? '')
  await lost.getByRole('button', { name: 'Sign in' }).click()
  await lost.getByText('No requests yet').waitFor()
  await desk.reload()
  await desk.getByText('9 of 10 left').waitFor()

  const { out } = await tollgate(['user', 'reset', 'ada@example.org'], { folder: gateway.folder })
  const [link = ''] = /https?:\/\/\S+/.exec(out) ?? []
  await lost.goto(new URL(new URL(link).pathname + new URL(link).hash, desk.url()).href)
  await lost.getByLabel('Password').fill('another twelve or more')
  await lost.getByRole('button', { name: 'Save the password' }).click()
  await lost.getByText('Set up a second factor').waitFor()
})

/** Gives the browser of a page a device that makes passkeys and signs without asking. */
async function plugInDevice(page: Page): Promise<void> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('WebAuthn.enable')
  await devTools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** Makes the sign-ins of a gateway an hour old. */
function age(folder: string): void {
  const store = new DatabaseSync(join(folder, 'data', 'simulator.db'), { timeout: 60_000 })
  store.exec('update sessions set created_at_ms = created_at_ms - 3600000, confirmed_at_ms = null')
  store.close()
}

test('an operator adds a passkey, signs in with it, and uses it when the password is asked for again', async ({
  newPage,
  gateway,
}) => {
  const byAddress = await newPage()
  const link = new URL(setupLink(gateway))
  await become(byAddress, link.href)
  await byAddress.getByRole('button', { name: 'Set up an app' }).waitFor()
  expect(await byAddress.getByRole('button', { name: 'Use a passkey instead' }).count()).toBe(0)
  await byAddress.context().close()

  link.hostname = 'localhost'
  const desk = await newPage()
  await plugInDevice(desk)
  await desk.goto(new URL('/app/sign-in', link).href)
  await signIn(desk)
  await desk.getByText('Set up a second factor').waitFor()
  await desk.getByRole('button', { name: 'Use a passkey instead' }).click()
  await expectGoodPage(desk)
  expect(await desk.getByLabel('Name', { exact: true }).inputValue()).toBe('Chrome on Linux')
  await desk.getByRole('button', { name: 'Add a passkey' }).click()
  await desk.getByRole('button', { name: 'I saved the codes' }).click()
  await desk.getByText('No requests yet').waitFor()

  await desk.getByRole('button', { name: /Ada Lovelace/ }).click()
  await desk.getByRole('button', { name: 'Sign out' }).click()
  await desk.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(desk)
  await desk.getByRole('button', { name: 'Use a passkey' }).waitFor()
  await expectGoodPage(desk)
  await desk.getByRole('button', { name: 'Use a passkey' }).click()
  await desk.getByText('No requests yet').waitFor()

  await desk.getByRole('button', { name: /Ada Lovelace/ }).click()
  await desk.getByRole('link', { name: 'Profile' }).click()
  await desk.getByText('10 of 10 left').waitFor()
  await expectGoodPage(desk)
  age(gateway.folder)
  await desk.getByRole('button', { name: 'Add a passkey' }).click()
  const adding = desk.getByRole('dialog', { name: 'Add a passkey' })
  await adding.getByRole('button', { name: 'Add a passkey' }).click()
  const asking = desk.getByRole('dialog', { name: 'Enter your password' })
  await asking.getByLabel('Password').fill(PASSWORD)
  await expectGoodPage(desk)
  await asking.getByRole('button', { name: 'Continue' }).click()
  await adding.getByText('This device already has one of your passkeys.').waitFor()
  await expectGoodPage(desk)
  await adding.getByRole('button', { name: 'Cancel' }).click()

  await desk.getByRole('button', { name: 'Remove the passkey Chrome on Linux' }).click()
  await desk.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await desk.getByText('Set up a second factor').waitFor()
})

test('without the passkey nothing signs in except a recovery code', async ({
  newPage,
  gateway,
}) => {
  const link = new URL(setupLink(gateway))
  link.hostname = 'localhost'
  const desk = await newPage()
  await plugInDevice(desk)
  await become(desk, link.href)
  await desk.getByRole('button', { name: 'Use a passkey instead' }).click()
  await desk.getByRole('button', { name: 'Add a passkey' }).click()
  const list = desk.getByRole('list', { name: 'Recovery codes' })
  await list.waitFor()
  const [code = ''] = await list.locator('li').allTextContents()
  await desk.getByRole('button', { name: 'I saved the codes' }).click()
  await atHome(desk)

  const elsewhere = await newPage({ width: 'phone' })
  await plugInDevice(elsewhere)
  await elsewhere.goto(new URL('/app/sign-in', link).href)
  await signIn(elsewhere)
  await elsewhere.getByRole('button', { name: 'Use a passkey' }).click()
  await elsewhere.getByText('The browser used no passkey').waitFor()
  await expectGoodPage(elsewhere)
  await elsewhere.getByRole('button', { name: 'Use a code instead' }).click()
  await elsewhere.getByLabel('Recovery code').fill(code)
  await expectGoodPage(elsewhere)
  await elsewhere.getByRole('button', { name: 'Sign in' }).click()
  await elsewhere.getByText('No requests yet').waitFor()
})

test('the fifth wrong code is refused for a time, and so is the right one meanwhile', async ({
  newPage,
  gateway,
}) => {
  const desk = await newPage()
  await become(desk, setupLink(gateway))
  await desk.getByRole('button', { name: 'Set up an app' }).click()
  const app = await scan(desk)
  await desk.getByLabel('Code').fill(app.generate())
  await desk.getByRole('button', { name: 'Turn on' }).click()
  await desk.getByRole('button', { name: 'I saved the codes' }).click()
  await atHome(desk)
  const guest = await newPage({ width: 'phone' })
  await beAsked(guest, new URL('/app/sign-in', desk.url()).href)
  const enter = async (code: string) => {
    await guest.getByLabel('Code').fill(code)
    await guest.getByRole('button', { name: 'Sign in' }).click()
  }
  for (let wrong = 1; wrong <= 5; wrong++) {
    await enter(`00000${wrong}`)
    const refusal =
      wrong < 5
        ? 'Incorrect or already used code.'
        : 'Too many wrong second factors for this user. Try again in 10 minutes.'
    await guest.getByText(refusal, { exact: true }).waitFor()
  }
  await expectGoodPage(guest)
  await enter(nextCode(app))
  await guest.getByText('Too many wrong second factors for this user.').waitFor()
})
