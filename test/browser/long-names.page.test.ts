import { expect } from 'vitest'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { expectFits, resize } from './chromium.ts'
import { test } from './page-test.ts'
import { EMPTY, json, type StandIn } from './stand-in.ts'
import { ENTRIES } from './stand-in-credit.ts'
import { HELIX, KEYS, listOf, ME } from './stand-in-data.ts'
import { ACTIONS, UPSTREAMS } from './stand-in-desk.ts'
import {
  ACCOUNTS,
  MEMBERS,
  NAMED_REQUESTS,
  TOKENS,
  UNSETTLED,
  WEBHOOKS,
} from './stand-in-operator.ts'
import { OVERVIEW } from './stand-in-overview.ts'
import { HELD } from './stand-in-sale.ts'
import {
  operatorReport,
  operatorUsage,
  USAGE,
  USAGE_BY_KEY,
  USAGE_BY_TAG,
} from './stand-in-usage.ts'

/** Names as long as they may be, without a place to break them, and of words; long IDs, and large sums. */

const LONG = 'W'.repeat(TEXT_CHARS_MAX.name)
const WORDS = 'email triage, production, EU region, second queue, '.repeat(4).slice(0, -2)
const NAMES = new Set(['name', 'account_name', 'key_name', 'external_id', 'reference'])

/** The same answer with this text as each name. */
function named(body: unknown, text: string): unknown {
  return JSON.parse(JSON.stringify(body), (field, value: unknown) =>
    NAMES.has(field) && typeof value === 'string' ? text : value,
  )
}

function giveNames(server: StandIn, text: string): void {
  const tagged = { ...USAGE_BY_TAG, data: USAGE_BY_TAG.data.map((row) => ({ ...row, id: text })) }
  server.answer(`/${HELIX.id}/usage/report`, json(tagged))
  for (const [end, body] of [
    ['/me', ME],
    ...ACCOUNTS.map((account) => [`/accounts/${account.id}`, account] as const),
    [`/accounts/${HELIX.id}`, HELIX],
    ['/overview', OVERVIEW],
    ['/keys', listOf(KEYS)],
    // Pruned requests have a name that is always the same.
    [
      '/usage',
      { ...USAGE_BY_KEY, groups: USAGE_BY_KEY.groups.filter(({ id }) => id !== 'pruned') },
    ],
    ['/entries', listOf(ENTRIES)],
    ['/members', listOf(MEMBERS)],
    ['/operator/accounts', listOf(ACCOUNTS)],
    ['/operator/usage', operatorUsage('account')],
    ['/operator/requests', listOf(NAMED_REQUESTS)],
    ['/operator/actions', listOf(ACTIONS)],
    ['/operator/tokens', listOf(TOKENS)],
    ['/operator/upstreams', listOf(UPSTREAMS)],
    ['/operator/unsettled', listOf(UNSETTLED)],
    ['/operator/purchases', listOf(HELD)],
    ['/operator/webhooks', listOf(WEBHOOKS.map((one) => ({ ...one, url: `https://${text}` })))],
  ] as const) {
    server.answer(end, json(named(body, text)))
  }
}

const SCREENS = [
  `${HELIX.id}/overview`,
  `${HELIX.id}/usage?by=key`,
  `${HELIX.id}/usage?by=tag`,
  `${HELIX.id}/keys`,
  `${HELIX.id}/credit?list=entries`,
  `${HELIX.id}/members`,
  'operator',
  'operator/accounts',
  `operator/accounts/${HELIX.id}`,
  `operator/accounts/${HELIX.id}/settings`,
  'operator/usage?by=account',
  'operator/activity',
  'operator/audit-log',
  'operator/tokens',
  'operator/upstreams',
  'operator/unsettled',
  'operator/purchases',
  'operator/webhooks',
  'profile',
] as const

test.for(SCREENS)(
  '%s has no card that a name of 200 letters breaks, in any window',
  async (path, { ownPage: page, server }) => {
    giveNames(server, LONG)
    await page.goto(`${server.address}/app/${path}`)
    for (const width of ['desk', 'tablet', 'phone'] as const) {
      await resize(page, width)
      await page.getByText(LONG).filter({ visible: true }).first().waitFor()
      await page.waitForFunction(() => document.querySelector('main .grey') === null)
      await expectFits(page)
      // A figure beside a name is whole.
      const figures = page.locator('.key b').filter({ visible: true })
      for (const figure of await figures.all()) {
        expect((await figure.boundingBox())?.height).toBeLessThan(24)
      }
    }
  },
)

/** Names in tables with more than one line, and those that have no title with the whole name. Runs in the page. */
function wrappedNames(name: string): readonly string[] {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const found: string[] = []
  while (walker.nextNode()) {
    const { currentNode: text } = walker
    const element = text.parentElement
    const cell = element?.closest('main td')
    if (text.nodeValue?.replace('https://', '') !== name || cell == null) continue
    // The parts of a sentence are whole.
    if (element?.closest('.only-t') != null) continue
    const range = document.createRange()
    range.selectNode(text)
    const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
    const titled = element?.closest('[title]')
    if (tops.size > 1) found.push(`${tops.size} lines: ${cell.className}`)
    if (tops.size > 0 && titled?.getAttribute('title')?.includes(name) !== true) {
      found.push(`no title: ${cell.className}`)
    }
  }
  return found
}

test.for(SCREENS)(
  '%s has long names in its tables on one line, and whole in their titles, on a desk and a tablet',
  async (path, { ownPage: page, server }) => {
    giveNames(server, WORDS)
    await page.goto(`${server.address}/app/${path}`)
    for (const width of ['desk', 'laptop', 'tablet'] as const) {
      await resize(page, width)
      await page.getByText(WORDS).filter({ visible: true }).first().waitFor()
      await page.waitForFunction(() => document.querySelector('main .grey') === null)
      expect(await page.evaluate(wrappedNames, WORDS)).toEqual([])
    }
  },
)

test('an ID that does not fit beside its name is below it, on one line', async ({
  page,
  server,
}) => {
  const id = 'acct_01kbh0c7x5qv3m9t2r8w6e0001'
  const generation = 'gen-1763762644-k3PqZk3PqZk3PqZk3PqZ1'
  const request = {
    ...NAMED_REQUESTS[4],
    account_id: id,
    account_name: null,
    generation_id: generation,
  }
  server.answer('/operator/requests', json({ ...EMPTY, data: [request] }))
  await page.goto(`${server.address}/app/operator/activity?request=${request.id}`)
  for (const text of [id, generation]) {
    const shown = page.locator('.drawer dd').getByText(text)
    await shown.waitFor()
    expect(await shown.evaluate((part) => part.getClientRects().length)).toBe(1)
  }
})

const SUMS = new Set(['charge', 'cost', 'margin', 'held', 'available', 'balance', 'spend'])
const MILLION_MICROS = 1_234_567_890_000

/** The same answer, a million dollars further from zero, with nine-digit counts. */
function enriched(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (field, value: unknown) => {
    if (typeof value !== 'number' || value === 0) return value
    if (field === 'requests') return value + 123_456_789
    return SUMS.has(field) ? value + Math.sign(value) * MILLION_MICROS : value
  })
}

test.for([
  `${HELIX.id}/overview`,
  `${HELIX.id}/usage`,
  'operator',
  'operator/accounts',
  'operator/usage',
])('%s has room for millions of dollars at each width', async (path, { page, server }) => {
  server.answer('/overview', json(enriched(OVERVIEW)))
  server.answer('/usage', json(enriched(USAGE)))
  server.answer('/operator/accounts', json(enriched(listOf(ACCOUNTS))))
  server.answer('/operator/usage/report', {
    kind: 'by',
    of: (query) => enriched(operatorReport(query)),
  })
  await page.goto(`${server.address}/app/${path}`)
  await page.getByText('$1,234,').filter({ visible: true }).first().waitFor()
  await page.waitForFunction(() => document.querySelector('main .grey') === null)
  for (const width of [360, 768, 1024, 1201, 1280, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await expectFits(page)
    const wide = await page
      .locator('.stat b, .big')
      .evaluateAll((sums) =>
        sums.flatMap((sum) => (sum.scrollWidth > sum.clientWidth ? [sum.textContent] : [])),
      )
    expect([width, wide]).toEqual([width, []])
  }
})
