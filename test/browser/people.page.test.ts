import { createServer } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { OPERATOR_ONLY } from '../../src/operations/customer-fields.ts'
import { listen } from '../../src/vocabulary/testing/listen.ts'
import { copyBy, expectGoodPage, sendByKeys } from './chromium.ts'
import { PASSWORD, signIn, test } from './on-gateway.ts'

/** Members, invitations and sessions, as people in several browsers see them. */

/** Opens Members and makes a link for Grace. */
async function invite(owner: Page): Promise<string> {
  await owner.getByRole('link', { name: 'Members' }).click()
  await owner.getByRole('button', { name: 'Invite' }).click()
  await owner.getByText('You get a link to send to the person.').waitFor()
  await owner.getByLabel('Email').fill('grace@example.org')
  await owner.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
  await owner.getByText('Send this link to grace@example.org.').waitFor()
  await owner.getByText('It works only on this machine: set TOLLGATE_PUBLIC_URL.').waitFor()
  const link = await owner.getByLabel('The new link').inputValue()
  // Otherwise the page asks before the link is left.
  await owner.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await copyBy(owner, 'Copy the link')
  return link
}

async function accept(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Name', { exact: true }).fill('Grace')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Join' }).click()
}

/** Makes Grace an owner, whose page then shows it. */
async function makeOwner(owner: Page, guest: Page): Promise<void> {
  await owner.reload()
  await owner.getByLabel('Role of Grace').selectOption('owner')
  // It shows what the gateway has, once that has answered.
  await expect.poll(() => owner.getByLabel('Role of Grace').inputValue()).toBe('owner')
  await guest.reload()
}

test('a person is invited by a link that works once, becomes an owner, and is removed at once', async ({
  owner,
  newPage,
}) => {
  const link = await invite(owner)
  await owner.getByText('grace@example.org', { exact: true }).waitFor()
  await expectGoodPage(owner)

  const guest = await newPage()
  await accept(guest, link)
  await guest.getByText('No requests yet').waitFor()
  expect(await guest.getByRole('link', { name: 'Members' }).count()).toBe(0)
  const late = await newPage()
  await late.goto(link)
  await late.getByRole('heading', { name: 'This link has been used or has expired.' }).waitFor()
  await late.getByRole('link', { name: 'Sign in' }).waitFor()
  expect(await late.locator('form').count()).toBe(0)

  await makeOwner(owner, guest)
  await guest.getByRole('link', { name: 'Members' }).click()
  await guest.getByLabel('Role of Ada Lovelace').waitFor()
  await expectGoodPage(guest)

  await owner.getByRole('button', { name: 'Remove Grace' }).click()
  await owner.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await owner.getByRole('button', { name: 'Remove Grace' }).waitFor({ state: 'detached' })
  await owner.getByText('Member removed.').waitFor()
  await owner.getByLabel('Role of Ada Lovelace').selectOption('member')
  await owner.getByRole('alert').getByText('This user is the last owner').waitFor()
  await guest.reload()
  await guest.getByText('Account not found').waitFor()
  await guest.getByRole('link', { name: 'Back to start' }).click()
  await guest.getByText('No account yet').waitFor()
})

test('an operator makes another, who can end the role of the first', async ({
  owner: ada,
  newPage,
  gateway,
}) => {
  await ada.goto(`${gateway.address}/app/operator/operators`)
  await ada.getByRole('button', { name: 'Invite an operator' }).click()
  await ada.getByLabel('Email').fill('grace@example.org')
  await ada.keyboard.press('Enter')
  const link = await ada.getByLabel('The new link').inputValue()
  await ada.getByRole('button', { name: 'Withdraw the invitation for grace@example.org' }).waitFor()
  const grace = await newPage()
  await accept(grace, link)
  await grace.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await grace.goto(`${gateway.address}/app/operator/operators`)
  await grace.getByRole('button', { name: 'Remove Ada Lovelace' }).click()
  await grace.getByRole('button', { name: 'Remove operator' }).click()
  await grace.getByRole('button', { name: 'Remove Ada Lovelace' }).waitFor({ state: 'detached' })
  await grace.getByText('No open invitations.').waitFor()
  await expectGoodPage(grace)
  await ada.reload()
  await ada.getByText('No requests yet').waitFor()
})

const SECTIONS = 'Overview Usage Keys Credit Models Connect Members Activity'.split(' ')
// What sections show after a choice, with its own calls and downloads.
const CHOICES = [
  ...['usage?by=key&step=month&compare=year', 'usage?by=tag', 'models?model=sim/text'],
  ...['credit?list=top-ups', 'credit?list=entries', 'activity?state=final'],
]

test('a link for a new member begins with the address of the page, and only operators read which setting to change', async ({
  owner,
  newPage,
}) => {
  const link = await invite(owner)
  expect(new URL(link).origin).toBe(new URL(owner.url()).origin)
  const guest = await newPage()
  await accept(guest, link)
  await guest.getByText('No requests yet').waitFor()
  await makeOwner(owner, guest)
  await guest.getByRole('link', { name: 'Members' }).click()
  await guest.getByRole('button', { name: 'Invite' }).click()
  await guest.getByLabel('Email').fill('hopper@example.org')
  await guest.getByRole('dialog').getByRole('button', { name: 'Invite' }).click()
  await guest.getByText(/It works only on this machine\.$/).waitFor()
  expect(await guest.getByText('TOLLGATE_PUBLIC_URL').count()).toBe(0)
})

const DOWNLOADS = ['usage.csv', 'usage/report', 'statement', 'entries.csv', 'requests.csv']

/** Buys credit with play money, and opens its receipt. */
async function openReceipt(page: Page): Promise<void> {
  const [, origin, accountId] = /^(.*)\/app\/([^/]+)/.exec(page.url()) ?? []
  const headers = { origin: String(origin) }
  const data = { method: 'card', amount: 25_000_000 }
  const path = `${origin}/app/api/accounts/${accountId}/purchases`
  const answer = await page.request.post(path, { headers, data })
  expect([answer.status(), await answer.text()]).toEqual([201, expect.anything()])
  const begun = await answer.json()
  const paid = await page.request.post(begun.url, {
    headers: { origin: new URL(begun.url).origin },
  })
  expect(paid.ok()).toBe(true)
  const receipt = `${path}/${begun.purchase.id}/receipt`
  await expect.poll(async () => (await page.request.get(receipt)).status()).toBe(200)
  await page.goto(`${origin}/app/${accountId}/credit?receipt=${begun.purchase.id}`)
  await page
    .getByText(/R-\d{4}-\d{4}/)
    .first()
    .waitFor()
}

test('no answer and no download of any section has a field of operators for an owner of an account', async ({
  owner,
  newPage,
}) => {
  const guest = await newPage()
  await accept(guest, await invite(owner))
  await guest.getByText('No requests yet').waitFor()
  await makeOwner(owner, guest)
  const bodies: Promise<string>[] = []
  guest.on('response', (response) => {
    if (!response.headers()['content-type']?.includes('json')) return
    bodies.push(response.text().catch(() => ''))
  })
  await guest.getByRole('link', { name: 'Playground' }).click()
  await sendByKeys(guest, 'Say hello.')
  await guest.getByText(/^Charged \$0\.0/).waitFor()
  const downloads = new Set<string>()
  const read = async () => {
    await guest.waitForFunction(() => document.querySelector('main .grey') === null)
    for (const link of await guest.locator('a[download]').all()) {
      downloads.add((await link.getAttribute('href')) ?? '')
    }
  }
  const accountId = new URL(guest.url()).pathname.split('/')[2]
  for (const choice of CHOICES) {
    await guest.goto(new URL(`/app/${accountId}/${choice}`, guest.url()).href)
    await guest.getByRole('heading', { level: 1 }).waitFor()
    await read()
  }
  for (const name of SECTIONS) {
    await guest.locator('.nav').getByRole('link', { name }).click()
    await guest.getByRole('heading', { level: 1, name }).waitFor()
    await read()
  }
  await guest.getByRole('link', { name: 'sim/text' }).click()
  await guest.locator('dt', { hasText: /^Charge$/ }).waitFor()
  await openReceipt(guest)
  await guest.goto(new URL('/app/profile', guest.url()).href)
  await guest.getByRole('heading', { level: 1 }).waitFor()
  await guest.waitForFunction(() => document.querySelector('main .grey') === null)
  const texts = await Promise.all(bodies)
  expect(texts.join()).toContain('"charge":')
  expect(OPERATOR_ONLY.filter((field) => texts.join().includes(`"${field}":`))).toEqual([])
  const ofAccount = (href: string) => /(?<=accounts\/[^/]+\/)[^?]+/.exec(href)?.[0]
  expect(new Set([...downloads].map(ofAccount))).toEqual(new Set(DOWNLOADS))
  for (const path of downloads) {
    const csv = await (await guest.request.get(new URL(path, guest.url()).href)).text()
    const columns = csv.split('\r\n')[0]?.split(',') ?? []
    expect(columns.length).toBeGreaterThan(3)
    expect(OPERATOR_ONLY.filter((field) => columns.includes(field))).toEqual([])
  }
})

test('an owner signs out everywhere else, and can not leave an account that has no other owner', async ({
  owner: desk,
  newPage,
}) => {
  const phone = await newPage()
  await phone.goto(new URL('/app/sign-in', desk.url()).href)
  await signIn(phone)
  await phone.getByText('No requests yet').waitFor()

  await desk.getByRole('button', { name: /Ada Lovelace/ }).click()
  await desk.getByRole('link', { name: 'Profile' }).click()
  await desk.getByRole('button', { name: 'Sign out everywhere else' }).click()
  await desk
    .getByRole('button', { name: 'Sign out everywhere else' })
    .waitFor({ state: 'detached' })
  await expectGoodPage(desk)
  await phone.reload()
  await phone.getByRole('button', { name: 'Sign in' }).waitFor()

  await desk.getByRole('button', { name: /^Leave / }).click()
  await desk.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
  await desk.getByRole('alert').getByText('This user is the last owner').waitFor()
})

/** A page of another port of this machine, which a browser takes for the same site. */
async function openForeign(owner: Page): Promise<{ page: Page; close: () => void }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Other</title>')
  })
  const address = `http://127.0.0.1:${await listen(server)}`
  const page = await owner.context().newPage()
  await page.goto(address)
  return { page, close: () => server.close() }
}

test('a page of another origin cannot use a session, even with its cookie', async ({ owner }) => {
  const { page, close } = await openForeign(owner)
  const target = new URL('/app/api/auth/sign-out', owner.url()).href
  const [sent] = await Promise.all([
    page.waitForResponse((response) => response.url() === target),
    // As a form of the other page would.
    page.evaluate(
      (url) => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }),
      target,
    ),
  ])
  expect(sent.status()).toBe(403)
  await owner.reload()
  await owner.getByText('No requests yet').waitFor()
  close()
})

test('an expired link signs no one in, and says so', async ({ owner, newPage, gateway }) => {
  const link = await invite(owner)
  const store = new DatabaseSync(join(gateway.folder, 'data', 'simulator.db'), { timeout: 60_000 })
  store.exec('update links set expires_at_ms = 1')
  store.close()
  const guest = await newPage()
  await guest.goto(link)
  await guest.getByText('This link has been used or has expired.').waitFor()
  await expectGoodPage(guest)
})

test('the fifth wrong password is refused for a time, and says how long', async ({
  owner,
  newPage,
}) => {
  const guest = await newPage()
  await guest.goto(new URL('/app/sign-in', owner.url()).href)
  await guest.getByLabel('Email').fill('ada@example.org')
  for (let wrong = 1; wrong <= 5; wrong++) {
    await guest.getByLabel('Password').fill(`a wrong password ${wrong}`)
    await guest.getByRole('button', { name: 'Sign in', exact: true }).click()
    const refusal =
      wrong < 5
        ? 'The email address or the password is wrong.'
        : 'Too many wrong passwords for this email address from your network. Try again in 10 minutes.'
    await guest.getByText(refusal, { exact: true }).waitFor()
  }
  await expectGoodPage(guest)
})
