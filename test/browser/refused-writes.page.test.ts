import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { test } from './page-test.ts'
import { json, type StandIn } from './stand-in.ts'
import { at, FACTORS, KEYS } from './stand-in-data.ts'
import { OPERATOR_INVITATIONS } from './stand-in-desk.ts'
import { CODES, INVITATIONS, MEMBERS, TOKENS, WEBHOOKS } from './stand-in-operator.ts'

/** Every dialog that changes something, when the change is not answered as it should be. */

interface Writing {
  readonly name: string
  /** Below `/app/`. */
  readonly path: string
  /** The buttons that open the dialog, one after the other. */
  readonly open: readonly string[]
  /** Texts by the labels of their fields. Default: none. */
  readonly type?: Readonly<Record<string, string>>
  /** The button that sends it. */
  readonly send: string
  readonly before?: (server: StandIn) => void
}

const [key] = KEYS

const WRITINGS: readonly Writing[] = [
  {
    name: 'Create key',
    path: at('keys'),
    open: ['Create key'],
    type: { Name: 'staging' },
    send: 'Create key',
  },
  {
    name: 'Change a key',
    path: at('keys'),
    open: [`Actions for ${key?.name}`, 'Change'],
    type: { Name: 'renamed' },
    send: 'Save',
  },
  {
    name: 'Disable a key',
    path: at('keys'),
    open: [`Actions for ${key?.name}`, 'Disable'],
    send: 'Disable',
  },
  {
    name: 'Delete a key',
    path: at('keys'),
    open: [`Actions for ${key?.name}`, 'Delete'],
    type: { [`Type ${key?.name} to delete it`]: String(key?.name) },
    send: 'Delete key',
  },
  {
    name: 'Invite a member',
    path: at('members'),
    open: ['Invite'],
    type: { Email: 'grace@example.org' },
    send: 'Invite',
  },
  {
    name: 'Remove a member',
    path: at('members'),
    open: [`Remove ${MEMBERS[1]?.name}`],
    send: 'Remove',
  },
  {
    name: 'Withdraw an invitation',
    path: at('members'),
    open: [`Withdraw the invitation for ${INVITATIONS[0]?.email}`],
    send: 'Withdraw',
  },
  {
    name: 'Invite an operator',
    path: 'operator/operators',
    open: ['Invite an operator'],
    type: { Email: 'grace@example.org' },
    send: 'Invite',
  },
  {
    name: 'Withdraw the invitation of an operator',
    path: 'operator/operators',
    open: [`Withdraw the invitation for ${OPERATOR_INVITATIONS[0]?.email}`],
    send: 'Withdraw',
  },
  {
    name: 'Create account',
    path: 'operator/accounts',
    open: ['Create account'],
    type: { Name: 'North' },
    send: 'Create account',
  },
  {
    name: 'Revoke a token',
    path: 'operator/tokens',
    open: [`Revoke the token ${TOKENS[0]?.name}`],
    send: 'Revoke',
  },
  {
    name: 'Revoke a code',
    path: 'operator/codes',
    open: [`Revoke the code that ends with ${CODES[0]?.suffix}`],
    send: 'Revoke',
  },
  {
    name: 'Dismiss a purchase',
    path: 'operator/purchases',
    open: ['Dismiss $900.00 of Helix Lab'],
    type: { Reason: 'paid twice' },
    send: 'Dismiss',
  },
  {
    name: 'Delete a webhook',
    path: `operator/webhooks/${WEBHOOKS[0]?.id}`,
    open: ['Delete'],
    send: 'Delete',
  },
  {
    name: 'Remove a passkey',
    path: 'profile',
    open: ['Remove the passkey Safari on iPhone'],
    send: 'Remove',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
  },
  {
    name: 'Make new recovery codes',
    path: 'profile',
    open: ['Make new codes'],
    send: 'Make ten codes',
    before: (server) => server.answer('/auth/factors', json(FACTORS)),
  },
  { name: 'Leave an account', path: 'profile', open: ['Leave Helix Lab'], send: 'Leave' },
]

/** Each reply that comes instead of an answer, and what the dialog says then. */
const ANSWERS = [
  {
    what: 'too many changes',
    reply: {
      status: 429,
      headers: { 'retry-after': '7' },
      json: { error: { message: 'Too many changes. Wait a minute.', code: 'rate_limited' } },
    },
    words: 'Too many changes. Wait a minute.',
  },
  {
    what: 'a fault of the server',
    reply: { status: 500, json: { error: { message: 'Broken inside.', code: 'server_error' } } },
    words: 'Broken inside.',
  },
  {
    what: 'the page of a proxy',
    reply: { status: 503, contentType: 'text/html', body: '<h1>503</h1>' },
    words: 'tollgate answered 503 without a reason.',
  },
  {
    what: 'a success that is not JSON',
    reply: { status: 200, contentType: 'text/html', body: '<h1>Log in to the Wi-Fi</h1>' },
    words: 'The answer could not be read: it may be from a proxy or a network login.',
  },
  { what: 'no answer', reply: null, words: 'tollgate cannot be reached.' },
] as const

async function openDialog(page: Page, writing: Writing): Promise<Locator> {
  for (const name of writing.open) {
    await page.getByRole('button', { name, exact: true }).last().click()
  }
  const dialog = page.locator('dialog[open]')
  for (const [label, text] of Object.entries(writing.type ?? {})) {
    await dialog.getByLabel(label, { exact: true }).fill(text)
  }
  return dialog
}

describe('a dialog that gets no good answer says so, keeps what was typed, and can be sent again', () => {
  test.for(WRITINGS)('$name', async (writing, { page, server }) => {
    writing.before?.(server)
    await page.goto(`${server.address}/app/${writing.path}`)
    const dialog = await openDialog(page, writing)
    const send = dialog.getByRole('button', { name: writing.send, exact: true })
    for (const { what, reply, words } of ANSWERS) {
      await page.route('**/app/api/**', (route) => {
        if (route.request().method() === 'GET') return route.fallback()
        return reply === null ? route.abort() : route.fulfill(reply)
      })
      await send.click()
      await dialog.getByRole('alert').getByText(words).waitFor()
      expect(await send.getAttribute('aria-disabled'), what).not.toBe('true')
      for (const [label, text] of Object.entries(writing.type ?? {})) {
        expect(await dialog.getByLabel(label, { exact: true }).inputValue(), what).toBe(text)
      }
      await page.unroute('**/app/api/**')
    }
  })
})
