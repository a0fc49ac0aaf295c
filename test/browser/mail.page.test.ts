import type { Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { type Mailbox, type ReceivedMail, startMailbox } from '../../src/mail/testing/mailbox.ts'
import { expectGoodPage, openWindow, takePicture } from './chromium.ts'
import { type PageGateway, servePage, setupLink } from './on-gateway.ts'
import { test as inBrowser } from './page-test.ts'

/** Ways in by email, on a real gateway before a real mail server. */

const EMAIL = 'ada@example.org'

interface Mailed {
  readonly gateway: PageGateway
  readonly box: Mailbox
}

async function openMailed(
  settings: Readonly<Record<string, string>>,
  onCleanup: (end: () => Promise<void>) => void,
): Promise<Mailed> {
  const box = await startMailbox()
  const ends: (() => Promise<void>)[] = []
  const env = { SMTP_URL: box.url, MAIL_FROM: 'gate@example.com', ...settings }
  const gateway = await servePage(env, (end) => ends.push(end))
  onCleanup(async () => {
    for (const end of ends) await end()
    await box.close()
  })
  return { gateway, box }
}

/** The sign-in, in the browser of a person who has set the gateway up, and whose session is gone. */
async function openDoor(page: Page, { gateway }: Mailed): Promise<Page> {
  const link = setupLink(gateway)
  await page.goto(link)
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password').fill('twelve or more characters')
  await page.getByRole('button', { name: 'Create the operator' }).click()
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await page.context().clearCookies()
  await page.goto(new URL('/app/sign-in', link).href)
  return page
}

const test = inBrowser
  .extend(
    'mailed',
    // biome-ignore lint/correctness/noEmptyPattern: a fixture names what it needs, here nothing
    async ({}, { onCleanup }): Promise<Mailed> => openMailed({}, onCleanup),
  )
  .extend(
    'door',
    async ({ newPage, mailed }): Promise<Page> =>
      openDoor(await newPage({ width: 'phone' }), mailed),
  )

function linkOf({ text }: ReceivedMail): string {
  return /^http:\S+#\S+$/m.exec(text)?.[0] ?? ''
}

test('a code signs in after a wrong one and a reload, and five wrong ones end it', async ({
  door,
  mailed,
}) => {
  await door.getByRole('link', { name: 'Sign in by email' }).click()
  await door.getByRole('heading', { name: 'Sign in by email' }).waitFor()
  await expectGoodPage(door)
  const ask = async (index: number): Promise<string> => {
    await door.getByLabel('Email').fill(EMAIL)
    await door.getByRole('button', { name: 'Send email' }).click()
    await door.getByLabel('Code').waitFor()
    return /^\d{6}$/m.exec((await mailed.box.mail(index)).text)?.[0] ?? ''
  }
  const enter = async (code: string): Promise<void> => {
    await door.getByLabel('Code').fill(code)
    const answered = door.waitForResponse((response) => response.url().endsWith('/auth/code'))
    await door.getByRole('button', { name: 'Sign in' }).click()
    await answered
  }
  const wrongOf = (code: string) => (code === '000000' ? '000001' : '000000')
  const ended = await ask(0)
  await expectGoodPage(door)
  for (let tries = 0; tries < 5; tries++) await enter(wrongOf(ended))
  await enter(ended)
  await door.getByText('After five tries, ask for another email').waitFor()
  await door.getByRole('button', { name: 'Send another email' }).click()
  const code = await ask(1)
  await enter(wrongOf(code))
  await door.getByText('The code is wrong').waitFor()
  await door.reload()
  await enter(code)
  await door.getByText('No requests yet').waitFor()
})

test('a new person who may sign up enters the code of an email, gets their own account, and changes the email address', async ({
  browser,
}) => {
  const service = { TOLLGATE_NAME: 'Corner Models', TOLLGATE_CONTACT: 'help@corner.example' }
  const mailed = await openMailed({ TOLLGATE_SIGN_UP: 'open', ...service }, onTestFinished)
  await using window = await openWindow(browser, { width: 'phone', theme: 'light' })
  const door = await openDoor(await window.newPage(), mailed)
  await door.getByRole('link', { name: 'Sign up or sign in by email' }).waitFor()
  await expectGoodPage(door)
  await door.getByRole('link', { name: 'Sign up or sign in by email' }).click()
  await door.getByText('If you have no account yet, they create one.').waitFor()
  await expectGoodPage(door)
  await door.getByLabel('Email').fill('eve@example.org')
  await door.getByRole('button', { name: 'Send email' }).click()
  await door.getByText('An email to eve@example.org is on its way.').waitFor()
  const { text } = await mailed.box.mail(0)
  expect(text).toContain('To create your account')
  await door.getByLabel('Code').fill(/^\d{6}$/m.exec(text)?.[0] ?? '')
  await door.getByRole('button', { name: 'Sign in' }).click()
  await door.getByText('No requests yet').waitFor()
  await door.getByText('Add credit, create a key, put it into').waitFor()
  expect(await door.title()).toBe('Overview · Corner Models')
  await expectGoodPage(door)

  // There is no current password to type: an email leads to the first one.
  const profile = new URL('/app/profile', door.url()).href
  await door.goto(profile)
  await door.getByText('You have no password.').waitFor()
  const operator = door.getByRole('link', { name: 'ask the operator' })
  expect(await operator.getAttribute('href')).toBe('mailto:help@corner.example')
  await door.getByText('Your email or provider alone signs you in.').waitFor()
  expect(await door.getByLabel('Current password').count()).toBe(0)
  await expectGoodPage(door)
  await door.getByRole('button', { name: 'Send email' }).click()
  await door.getByText('An email to eve@example.org is on its way.').waitFor()
  await door.goto(linkOf(await mailed.box.mail(1)))
  await door.getByLabel('Password').fill('another dozen characters')
  await door.getByRole('button', { name: 'Save the password' }).click()
  await door.getByText('No requests yet').waitFor()
  // The email's link has another host name, and the session is there.
  await door.goto(new URL('/app/profile', door.url()).href)
  await door.getByLabel('Current password').waitFor()

  await door.getByLabel('New email').fill('eve@new.example')
  await door.getByRole('button', { name: 'Send link' }).click()
  await door.getByText('If no other user has or had the address eve@new.example').waitFor()
  await expectGoodPage(door)
  await takePicture(door, 'profile-new-email')
  await door.goto('about:blank')
  await door.goto(linkOf(await mailed.box.mail(2)))
  await door.getByText('you sign in with eve@new.example').waitFor()
  await door.getByRole('link', { name: 'Corner Models' }).waitFor()
  await expectGoodPage(door)
  await takePicture(door, 'new-email')
  await door.getByRole('button', { name: 'Confirm the address' }).click()
  await door.getByText('Your email address is changed.').waitFor()
  await expectGoodPage(door)
  await door.getByRole('button', { name: 'Continue' }).click()
  await door.getByText('You sign in with eve@new.example.').waitFor()
})

test('the link of an email signs in only after a press of the button, and works once', async ({
  door,
  mailed,
}) => {
  await door.getByRole('link', { name: 'Sign in by email' }).click()
  await door.getByRole('heading', { name: 'Sign in by email' }).waitFor()
  await door.getByLabel('Email').fill(EMAIL)
  await door.getByRole('button', { name: 'Send email' }).click()
  const link = linkOf(await mailed.box.mail(0))
  for (let opened = 0; opened < 2; opened++) {
    await door.goto('about:blank')
    await door.goto(link)
    await door.getByRole('heading', { name: 'Sign in to tollgate' }).waitFor()
    await door.waitForURL((url) => url.hash === '')
  }
  await expectGoodPage(door)
  await door.getByRole('button', { name: 'Sign in' }).click()
  await door.getByText('No requests yet').waitFor()
  await door.goto('about:blank')
  await door.goto(link)
  await door.getByText('This link has been used or has expired.').waitFor()
})

test('a forgotten password is reset by email, and an unknown address gets the same answer', async ({
  door,
  mailed,
}) => {
  const forget = async (email: string): Promise<void> => {
    await door.getByRole('link', { name: 'Forgot your password?' }).click()
    // Otherwise the field of the screen before it is filled, while this one still loads.
    await door.getByRole('heading', { name: 'Choose a new password' }).waitFor()
    await door.getByLabel('Email').fill(email)
    await door.getByRole('button', { name: 'Send email' }).click()
    await door.getByRole('heading', { name: 'Check your email' }).waitFor()
    await door.getByText(`If a user has the address ${email}`).waitFor()
    await door.getByText('The link works once, within 45 minutes.').waitFor()
  }
  await forget('eve@example.org')
  await expectGoodPage(door)
  await door.getByRole('link', { name: 'Sign in with a password' }).click()
  await forget(EMAIL)
  await door.goto('about:blank')
  await door.goto(linkOf(await mailed.box.mail(0)))
  await door.getByLabel('Password').fill('another dozen characters')
  await door.getByRole('button', { name: 'Save the password' }).click()
  await door.getByText('No requests yet').waitFor()
  expect(mailed.box.mails.map(({ to }) => to)).toEqual([[EMAIL]])
})
