import { describe, expect } from 'vitest'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { expectFits } from './chromium.ts'
import { test } from './page-test.ts'
import { EMPTY, json, type StandIn } from './stand-in.ts'
import { ENTRIES } from './stand-in-credit.ts'
import { HELIX, KEYS, ME } from './stand-in-data.ts'
import { ACTIONS } from './stand-in-desk.ts'
import { ACCOUNTS, MEMBERS, NAMED_REQUESTS, TOKENS } from './stand-in-operator.ts'
import { OVERVIEW } from './stand-in-overview.ts'
import { operatorUsage, USAGE_BY_KEY } from './stand-in-usage.ts'

/** Names as long as they may be, without a place to break them. */

const LONG = 'W'.repeat(TEXT_CHARS_MAX.name)
const NAMES = new Set(['name', 'account_name', 'key_name', 'external_id', 'reference'])

/** The same answer with each name as long as it may be. */
function longNamed(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (field, value: unknown) =>
    NAMES.has(field) && typeof value === 'string' ? LONG : value,
  )
}

const list = (data: readonly unknown[]) => ({ ...EMPTY, data })

function giveLongNames(server: StandIn): void {
  for (const [end, body] of [
    ['/me', ME],
    ...ACCOUNTS.map((account) => [`/accounts/${account.id}`, account] as const),
    [`/accounts/${HELIX.id}`, HELIX],
    ['/overview', OVERVIEW],
    ['/keys', list(KEYS)],
    ['/usage', USAGE_BY_KEY],
    ['/entries', list(ENTRIES)],
    ['/members', list(MEMBERS)],
    ['/operator/accounts', list(ACCOUNTS)],
    ['/operator/usage', operatorUsage('account')],
    ['/operator/requests', list(NAMED_REQUESTS)],
    ['/operator/actions', list(ACTIONS)],
    ['/operator/tokens', list(TOKENS)],
  ] as const) {
    server.answer(end, json(longNamed(body)))
  }
}

const SCREENS = [
  `${HELIX.id}/overview`,
  `${HELIX.id}/usage?by=key`,
  `${HELIX.id}/keys`,
  `${HELIX.id}/credit?list=entries`,
  `${HELIX.id}/members`,
  'operator',
  'operator/accounts',
  `operator/accounts/${HELIX.id}/settings`,
  'operator/usage?by=account',
  'operator/activity',
  'operator/audit-log',
  'operator/tokens',
  'profile',
] as const

describe.each(['desk', 'tablet', 'phone'] as const)('%s', (width) => {
  test.for(SCREENS)(
    '%s has no card that a name of 200 letters breaks',
    async (path, { pages, server }) => {
      giveLongNames(server)
      const { page } = await pages.of(width)
      await page.goto(`${server.address}/app/${path}`)
      await page.getByText(LONG).filter({ visible: true }).first().waitFor()
      await page.waitForFunction(() => document.querySelector('main .grey') === null)
      await expectFits(page)
      // A figure beside a name is whole.
      const figures = page.locator('.key b').filter({ visible: true })
      for (const figure of await figures.all()) {
        expect((await figure.boundingBox())?.height).toBeLessThan(24)
      }
    },
  )
})
