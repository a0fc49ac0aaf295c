import { randomFillSync } from 'node:crypto'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { hashCreditCode } from '../../ledger/credit-codes.ts'
import { createLedger } from '../../ledger/engines/create-ledger.ts'
import { paidLook } from '../../ledger/testing/paid-look.ts'
import { FACTS, holdInput } from '../../ledger/testing/script.ts'
import { parseSmtpUrl } from '../../mail/smtp-url.ts'
import { startMailbox } from '../../mail/testing/mailbox.ts'
import { addUser } from '../../people/users.ts'
import { openStore } from '../../store/open-store.ts'
import { MEMBERS } from '../../store/people-tables.ts'
import { makeStoreFolder } from '../../store/testing/store-folder.ts'
import { systemClock } from '../../vocabulary/clock.ts'
import { createIdSource } from '../../vocabulary/ids.ts'
import { micros } from '../../vocabulary/money.ts'
import { openCommandLine, type Seen } from './command-line.ts'

/** Runs command lines as help and docs show them, each on a new copy of a store that has what they name. */
export interface SeededLines {
  /** Runs a line that is typed after `tollgate`. Placeholders such as `key_…` become the IDs of the store. */
  run(typed: string): Promise<Seen>
  close(): Promise<void>
}

/** Commands that need a provider, another store or a chain: the tests of each run them. */
export const RUN_ELSEWHERE =
  /^(?:serve|backup|copy|catalog refresh|upstream check|sale (?:check|rescan|replace-key))(?: |$)/

const ids = createIdSource({ clock: systemClock, fillRandom: (bytes) => randomFillSync(bytes) })

/** Makes the store: an account of each thing that help and docs name, with people who sign in, and a mail server. */
export async function openSeededLines(): Promise<SeededLines> {
  const box = await startMailbox()
  const folder = makeStoreFolder('seeded')
  const seed = join(folder, 'seed.db')
  const found = await makeSeed(seed)
  const mail = { server: parseSmtpUrl(box.url), from: { name: null, address: 'gate@example.com' } }
  return {
    async run(typed) {
      const file = join(folder, `${ids.next('store')}.db`)
      copyFileSync(seed, file)
      const line = openCommandLine({ storeUrl: `sqlite:${file}`, mail })
      const words = typed
        .replace(/\b([a-z]+)_(?:01k9)?…/g, (text, prefix: string) => found[prefix] ?? text)
        .match(/"[^"]*"|\S+/g)
      const seen = await line.run(...(words ?? []).map((word) => word.replaceAll('"', '')))
      line.close()
      return seen
    },
    async close() {
      rmSync(folder, { recursive: true })
      await box.close()
    },
  }
}

/** Writes the store to a file, and returns an ID of each kind by its prefix. */
async function makeSeed(seed: string): Promise<Readonly<Record<string, string>>> {
  const line = openCommandLine()
  const acct = await line.make('account', 'create', 'Ada', '--external-id', 'team-vision')
  await line.run('credit', 'add', acct, '100', '--reference', 'first')
  const key = await line.make('key', 'create', acct, '--name', 'laptop')
  const atok = await line.make('token', 'create', '--name', 'shop', '--scope', 'read')
  const hook = await line.make('webhook', 'create', 'https://example.com/hook')
  await line.run('user', 'invite', 'bob@example.com', '--account', acct)
  const records = await addRecords({ storeUrl: line.storeUrl, accountId: acct, apiKeyId: key })
  await line.run('backup', seed)
  line.close()
  return { acct, key, atok, hook, ...records }
}

interface RecordsInput {
  readonly storeUrl: string
  readonly accountId: string
  readonly apiKeyId: string
}

/** Adds what no command makes: people, a code of a known text, an unresolved request and a purchase on hold. */
async function addRecords({ storeUrl, accountId, apiKeyId }: RecordsInput) {
  const [req, pur] = [ids.next('req'), ids.next('pur')]
  const store = await openStore({ url: storeUrl, clock: systemClock })
  for (const [email, isOperator] of [
    ['ada@example.com', false],
    ['ada@example.org', false],
    ['grace@example.org', true],
    ['root@example.org', true],
  ] as const) {
    const user = await store.db.transaction().execute((trx) =>
      addUser(trx, {
        ...{ ids, nowMs: 0, name: 'Ada', email, isOperator },
        ...{ passwordHash: '!', isVouched: true },
      }),
    )
    if (isOperator) continue
    const member = { accountId, userId: user?.id ?? '', role: 'owner', createdAtMs: 0 } as const
    await store.db.insertInto('members').values(MEMBERS.record(member)).execute()
  }
  const checkout = { id: pur, cents: 2_400, state: 'paid', expires_at_ms: 1 }
  const shown = { display_prefix: 'sk-tollgate-bsE…WJpk' }
  await store.db.updateTable('api_keys').set(shown).where('id', '=', apiKeyId).execute()
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
  await ledger.openHold(holdInput(req, { accountId, apiKeyId, amountMicros: 50_000 }))
  const resolution = { kind: 'unresolved', generationId: null } as const
  await ledger.settle({ requestId: req, resolution, facts: FACTS })
  await ledger.postPurchase({
    ...paidLook('x', { accountId }),
    id: pur,
    source: `play:${pur}`,
    ...{ creditMicros: micros(25_000_000), priceUnits: 2_500n },
    fact: {
      ...{ kind: 'paid', paid: { currency: 'usd', units: 2_400n }, reversedUnits: 0n },
      ...{ paymentRef: null, dispute: null },
      judgment: { kind: 'hold', reason: 'a dollar short', worthMicros: micros(24_000_000) },
    },
  })
  await ledger.close()
  await store.close()
  return { req, pur }
}
