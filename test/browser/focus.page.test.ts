import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { test } from './page-test.ts'
import { json, type StandIn } from './stand-in.ts'
import { SESSIONS } from './stand-in-credit.ts'
import { at, FACTORS, KEYS, listOf, NO_FACTORS } from './stand-in-data.ts'
import { OPERATOR_INVITATIONS } from './stand-in-desk.ts'
import { CODES, INVITATIONS, MEMBERS, TOKENS } from './stand-in-operator.ts'
import { HELD } from './stand-in-sale.ts'

/** Where the focus is once the button that had it is gone. */

const NOW = '2026-11-21T22:00:00.000Z'

interface Ending {
  readonly name: string
  /** Below `/app/`. */
  readonly path: string
  /** The buttons that are pressed by Enter, one after the other. */
  readonly press: readonly string[]
  /** Typed into the only field of the dialog. */
  readonly type?: string
  readonly method: 'DELETE' | 'POST'
  /** Where the list is read, before and after. */
  readonly reads: string
  readonly before?: unknown
  readonly after: unknown
  /** The start of the name, or of the text, of what has the focus then. */
  readonly focused: string
}

const [key, nextKey] = KEYS
const [token] = TOKENS
const [code] = CODES
const [owner, member] = MEMBERS

const ENDINGS: readonly Ending[] = [
  {
    name: 'a token is on its row',
    path: 'operator/tokens',
    press: [`Revoke the token ${token?.name}`, 'Revoke'],
    method: 'DELETE',
    reads: '/operator/tokens',
    after: listOf([{ ...token, revoked_at: NOW }, ...TOKENS.slice(1)]),
    focused: 'shop',
  },
  {
    name: 'a code is on its row',
    path: 'operator/codes',
    press: [`Revoke the code that ends with ${code?.suffix}`, 'Revoke'],
    method: 'DELETE',
    reads: '/operator/codes',
    after: listOf([{ ...code, revoked_at: NOW }, ...CODES.slice(1)]),
    focused: `…${code?.suffix}`,
  },
  {
    name: 'a key is on the next key',
    path: at('keys'),
    press: [`Actions for ${key?.name}`, 'Delete', 'Delete key'],
    type: String(key?.name),
    method: 'DELETE',
    reads: '/keys',
    after: listOf(KEYS.slice(1)),
    focused: `Actions for ${nextKey?.name}`,
  },
  {
    name: 'the last invitation is on their card',
    path: at('members'),
    press: [`Withdraw the invitation for ${INVITATIONS[0]?.email}`, 'Withdraw'],
    method: 'DELETE',
    reads: '/invitations',
    after: listOf([]),
    focused: 'Open invitations',
  },
  {
    name: 'the last invitation of an operator is on their card',
    path: 'operator/operators',
    press: [`Withdraw the invitation for ${OPERATOR_INVITATIONS[0]?.email}`, 'Withdraw'],
    method: 'DELETE',
    reads: '/operator/invitations',
    after: listOf([]),
    focused: 'Open invitations',
  },
  {
    name: 'a membership is on the member above',
    path: at('members'),
    press: [`Remove ${member?.name}`, 'Remove'],
    method: 'DELETE',
    reads: '/members',
    after: listOf([owner]),
    focused: `Role of ${owner?.name}`,
  },
  {
    name: 'a session is on the session above',
    path: 'profile',
    press: ['Sign out Safari on iPhone'],
    method: 'DELETE',
    reads: '/auth/sessions',
    after: listOf(SESSIONS.slice(0, 1)),
    focused: 'Sign out Chrome on Linux',
  },
  {
    name: 'all other sessions is on their card',
    path: 'profile',
    press: ['Sign out everywhere else'],
    method: 'DELETE',
    reads: '/auth/sessions',
    after: listOf(SESSIONS.slice(0, 1)),
    focused: 'Sessions',
  },
  {
    name: 'a passkey is on the card of second factors',
    path: 'profile',
    press: ['Remove the passkey Safari on iPhone', 'Remove'],
    method: 'DELETE',
    reads: '/auth/factors',
    before: FACTORS,
    after: NO_FACTORS,
    focused: 'Second factor',
  },
  {
    name: 'a held purchase is on the next',
    path: 'operator/purchases',
    press: ['Dismiss $900.00 of Helix Lab', 'Dismiss'],
    type: 'paid by mistake',
    method: 'POST',
    reads: '/operator/purchases',
    after: listOf(HELD.slice(1)),
    focused: `Dismiss $0.40 of ${HELD[1]?.account_name}`,
  },
]

/** The start of the name, or of the text, of what has the focus. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement
    if (element === document.body) return 'nothing'
    return element?.getAttribute('aria-label') ?? element?.textContent
  })

async function end(page: Page, ending: Ending, server: StandIn): Promise<void> {
  const { press, type, method, reads, before, after } = ending
  if (before !== undefined) server.answer(reads, json(before))
  // Whatever is changed, the list is another from then on.
  const of = () => {
    server.answer(reads, json(after))
    return {}
  }
  server.answer(`${method} `, { kind: 'by', of })
  await page.goto(`${server.address}/app/${ending.path}`)
  for (const [place, name] of press.entries()) {
    const isLast = place > 0 && place === press.length - 1
    if (isLast && type !== undefined) await page.getByRole('dialog').getByRole('textbox').fill(type)
    const button = page.getByRole('button', { name, exact: true })
    await button.last().press('Enter')
  }
  await expect.poll(() => server.asked.some((call) => call.startsWith(`${method} `))).toBe(true)
}

describe('after the end of', () => {
  test.for(ENDINGS)('$name', async (ending, { page, server }) => {
    await end(page, ending, server)
    await expect.poll(() => focused(page)).toMatch(new RegExp(`^${escaped(ending.focused)}`))
    expect(await page.getByRole('dialog').count()).toBe(0)
  })
})

/** A text as a pattern. */
const escaped = (text: string) => text.replace(/[$.…]/g, '\\$&')

test('a message that its own button closes gives the focus back to the page', async ({
  page,
  server,
}) => {
  server.answer(`PATCH /keys/${key?.id}`, json({ ...key, disabled: true }))
  await page.goto(`${server.address}/app/${at('keys')}`)
  for (const name of [`Actions for ${key?.name}`, 'Disable', 'Disable']) {
    await page.getByRole('button', { name, exact: true }).last().press('Enter')
  }
  await page.locator('.toast').getByRole('button', { name: 'Close' }).press('Enter')
  await page.locator('.toast').waitFor({ state: 'detached' })
  await expect.poll(() => focused(page)).toBe(`Actions for ${key?.name}`)
})

test('a message of the Playground that is removed gives its focus to the next', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('playground')}`)
  for (const text of ['one', 'two']) {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
  }
  const remove = page.locator('.said').first().getByRole('button').last()
  await remove.press('Enter')
  await page.getByText('one', { exact: true }).waitFor({ state: 'detached' })
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.closest('.said')?.textContent))
    .toContain('two')
})

test('a press beside every control takes the focus away, also when a row goes later', async ({
  page,
  server,
}) => {
  await page.goto(`${server.address}/app/${at('keys')}`)
  await page.getByRole('button', { name: `Actions for ${key?.name}` }).focus()
  await page.getByRole('heading', { level: 1 }).click()
  server.answer('/keys', json(listOf(KEYS.slice(1))))
  await page.evaluate(() => globalThis.dispatchEvent(new Event('visibilitychange')))
  await page.getByText(String(key?.name)).waitFor({ state: 'detached' })
  expect(await focused(page)).not.toBe(`Actions for ${nextKey?.name}`)
})

test.for([
  ['sign-in-by-mail', 'Email'],
  ['reset#a-token', 'Password'],
  ['invite#a-token', 'Name'],
] as const)('the first field of %s has the focus', async ([path, label], { page, server }) => {
  await page.goto(`${server.address}/app/${path}`)
  const field = page.getByLabel(label, { exact: true })
  await field.waitFor()
  expect(await field.evaluate((input) => input === document.activeElement)).toBe(true)
})
