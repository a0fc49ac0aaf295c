import { randomFillSync } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashCreditCode } from '../ledger/credit-codes.ts'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { paidLook } from '../ledger/testing/paid-look.ts'
import { FACTS, holdInput } from '../ledger/testing/script.ts'
import { parseSmtpUrl } from '../mail/smtp-url.ts'
import { type Mailbox, startMailbox } from '../mail/testing/mailbox.ts'
import { addUser } from '../people/users.ts'
import { openStore } from '../store/open-store.ts'
import { MEMBERS } from '../store/people-tables.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import { micros } from '../vocabulary/money.ts'
import { openCommandLine } from './testing/command-line.ts'
import { examplesOf, SHOWN_COMMANDS } from './testing/helps.ts'

/** Each example of a help, run on a store that has what it names. */

const ids = createIdSource({ clock: systemClock, fillRandom: (bytes) => randomFillSync(bytes) })
const REQUEST = ids.next('req')
const PURCHASE = ids.next('pur')

let folder: string
let seed: string
let apiKeyId: string
let box: Mailbox

beforeAll(async () => {
  box = await startMailbox()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-examples-'))
  seed = join(folder, 'seed.db')
  const line = openCommandLine()
  const account = await line.make('account', 'create', 'Ada')
  await line.run('credit', 'add', account, '100', '--reference', 'first')
  apiKeyId = await line.make('key', 'create', account, '--name', 'laptop')
  await line.run('token', 'create', '--name', 'shop', '--scope', 'read')
  await line.run('webhook', 'create', 'https://example.com/hook')
  await addRecords({ storeUrl: line.storeUrl, account })
  await line.run('backup', seed)
  line.close()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await box.close()
})

/** Adds what no command makes: an owner, a code of a known text, an unresolved request and a purchase on hold. */
async function addRecords({
  storeUrl,
  account,
}: {
  readonly storeUrl: string
  readonly account: string
}): Promise<void> {
  const store = await openStore({ url: storeUrl, clock: systemClock })
  const user = await store.db.transaction().execute((trx) =>
    addUser(trx, {
      ...{ ids, nowMs: 0, name: 'Ada', email: 'ada@example.com' },
      ...{ passwordHash: '!', isOperator: false, isVouched: true },
    }),
  )
  const userId = user?.id ?? ''
  const member = { accountId: account, userId, role: 'owner', createdAtMs: 0 } as const
  await store.db.insertInto('members').values(MEMBERS.record(member)).execute()
  const checkout = { id: PURCHASE, cents: 2_400, state: 'paid', expires_at_ms: 1 }
  await store.db.insertInto('play_checkouts').values(checkout).execute()
  const ledger = createLedger({ location: store.location, clock: systemClock })
  const text = 'ABCDEF-GHJKMN-PQRSTV-WXYZ23'
  await ledger.addCreditCode(
    {
      id: ids.next('code'),
      ...{ codeHash: hashCreditCode(text), displaySuffix: text.slice(-6) },
      ...{ amountMicros: micros(5_000_000), expiresAtMs: null },
    },
    null,
  )
  await ledger.openHold(holdInput(REQUEST, { accountId: account, apiKeyId, amountMicros: 50_000 }))
  const resolution = { kind: 'unresolved', generationId: null } as const
  await ledger.settle({ requestId: REQUEST, resolution, facts: FACTS })
  const look = paidLook('x', { accountId: account })
  const judgment = {
    kind: 'hold',
    reason: 'a dollar short',
    worthMicros: micros(24_000_000),
  } as const
  await ledger.postPurchase({
    ...look,
    id: PURCHASE,
    source: `play:${PURCHASE}`,
    ...{ creditMicros: micros(25_000_000), priceUnits: 2_500n },
    fact: {
      ...{ kind: 'paid', paid: { currency: 'usd', units: 2_400n }, reversedUnits: 0n },
      ...{ paymentRef: null, isDisputed: false, judgment },
    },
  })
  await ledger.close()
  await store.close()
}

/** Commands that need a provider, another store or a chain: the tests of each run them. */
const ELSEWHERE =
  /^(?:serve|backup|copy|catalog refresh|upstream check|sale (?:check|rescan|replace-key))(?: |$)/

const LINES = SHOWN_COMMANDS.flatMap(([words, command]) => {
  let help = ''
  command.configureOutput({ writeOut: (text) => (help += text) })
  command.outputHelp()
  const examples = examplesOf(help)
  return examples.length === 0 ? [words] : examples
}).filter((words) => !ELSEWHERE.test(words))

test.each(LINES)('tollgate %s', async (typed) => {
  const file = join(folder, `${ids.next('store')}.db`)
  copyFileSync(seed, file)
  const mail = { server: parseSmtpUrl(box.url), from: { name: null, address: 'gate@example.com' } }
  const line = openCommandLine({ storeUrl: `sqlite:${file}`, mail })
  const words = typed
    .replace('key_…', apiKeyId)
    .replace('req_…', REQUEST)
    .replace('pur_…', PURCHASE)
    .match(/"[^"]*"|\S+/g)
  const { exitCode, notes } = await line.run(
    ...(words ?? []).map((word) => word.replaceAll('"', '')),
  )
  expect([exitCode, notes]).toEqual([0, expect.not.stringContaining('tollgate: ')])
  line.close()
})

test('the examples of almost all commands are run', () => {
  expect(LINES.length).toBeGreaterThan(70)
})
