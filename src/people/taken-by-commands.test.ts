import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { postgresLedger } from '../ledger/engines/create-ledger.ts'
import { listOperatorActions } from '../ledger/operator-actions.ts'
import { connected } from '../ledger/testing/connected.ts'
import { readSetting, writeSetting } from '../store/settings.ts'
import { micros } from '../vocabulary/money.ts'
import { ofEach } from '../vocabulary/testing/of-each.ts'
import { RewoundPlace } from './testing/rewound-place.ts'

const world = ofEach(RewoundPlace.open)
beforeEach(() => world.makeAccount())

type Commanded = ReturnType<typeof postgresLedger>

/** Runs commands of `tollgate`: no program remembers them after it. */
async function commands(run: (ledger: Commanded) => Promise<unknown>): Promise<void> {
  const ledger = postgresLedger({ url: world.database.url })
  await run(ledger)
  await ledger.close()
}

async function addKeys(...ids: readonly string[]): Promise<void> {
  await commands(async (ledger) => {
    for (const id of ids) {
      const key = { id, accountId: 'acct_1', name: id, keyHash: id, displayPrefix: 'sk' }
      await ledger.addApiKey(key)
    }
  })
}

async function state() {
  const read = async (text: string) => (await sql.raw<object>(text).execute(world.db)).rows
  return {
    accounts: await read('select id, disabled, disabled_at_ms, disabled_note from accounts'),
    keys: await read('select id, disabled, expires_at_ms, deleted_at_ms from api_keys order by id'),
    codes: await read('select id, revoked_at_ms from credit_codes'),
    maintenance: await readSetting(world.db, 'maintenance'),
    version: await readSetting(world.db, 'callers_version'),
  }
}

test('what `tollgate` suspended, disabled, deleted, revoked or turned off is so again after the database lost it, and the audit log says that a gateway did it', async () => {
  await addKeys('disabled', 'deleted', 'expired', 'enabled')
  await commands(async (ledger) => {
    const code = { id: 'code_1', codeHash: 'hash', displaySuffix: 'abcd', expiresAtMs: null }
    await ledger.addCreditCode({ ...code, amountMicros: micros(5) })
    await ledger.updateApiKey({ id: 'enabled', disabled: true })
  })
  await world.keep()
  const before = await state()
  await commands(async (ledger) => {
    await ledger.updateAccount({ id: 'acct_1', disabled: true, disabledNote: 'Unpaid' })
    await ledger.updateApiKey({ id: 'disabled', disabled: true })
    await ledger.updateApiKey({ id: 'expired', expiresAtMs: 5 })
    await ledger.updateApiKey({ id: 'enabled', disabled: false })
    await ledger.deleteApiKey('deleted')
    await ledger.revokeCreditCode('code_1')
  })
  await writeSetting(world.db, { name: 'maintenance', value: 'on' })
  const { version: _, ...after } = await state()
  const gateways = [world.gateway(), world.gateway()]
  for (const each of gateways) await each.catchUp()
  await world.goBack()
  expect(await state()).toEqual(before)
  await Promise.all(gateways.map((each) => each.catchUp()))
  const { version, ...again } = await state()
  expect(again).toEqual(after)
  expect(Number(version)).toBeGreaterThan(Number(before.version))
  expect(world.failures).toEqual([])
  const { rows: actions } = await listOperatorActions(world.db, { limit: 20 })
  expect(
    actions
      .filter(({ tokenName }) => tokenName === 'gateway')
      .map(({ action, targetId, accountId }) => `${action} ${targetId} of ${accountId}`)
      .sort(),
  ).toEqual([
    'changeAccount acct_1 of acct_1',
    'changeKey disabled of acct_1',
    'changeKey enabled of acct_1',
    'changeKey expired of acct_1',
    'deleteKey deleted of acct_1',
    'revokeCode code_1 of null',
    'setMaintenance null of null',
  ])
})

test('an account that was suspended and resumed, several times, stays as it was at last', async () => {
  await world.keep()
  await commands(async (ledger) => {
    for (const disabled of [true, false, true, false]) {
      await ledger.updateAccount({ id: 'acct_1', disabled })
    }
  })
  const known = world.gateway()
  await known.catchUp()
  await world.goBack()
  await known.catchUp()
  expect((await state()).accounts).toMatchObject([{ disabled: 0 }])
  await world.keep()
  await commands(async (ledger) => {
    for (const disabled of [true, false, true]) {
      await ledger.updateAccount({ id: 'acct_1', disabled })
    }
  })
  await known.catchUp()
  await world.goBack()
  await known.catchUp()
  expect((await state()).accounts).toMatchObject([{ disabled: 1 }])
})

test.each(['books its commands again first', 'repeats the notes first'])(
  'a gateway that %s leaves an account and a key as they were at last',
  async (order) => {
    await addKeys('key_1')
    const wentBack = Promise.withResolvers<void>()
    const ledger = postgresLedger({
      url: world.database.url,
      wentBack: { instanceId: 'inst_1', onWentBack: () => wentBack.resolve() },
    })
    try {
      await connected(ledger)
      await world.keep()
      await connected(ledger)
      await ledger.updateAccount({ id: 'acct_1', disabled: true })
      await ledger.updateAccount({ id: 'acct_1', disabled: false })
      await ledger.updateApiKey({ id: 'key_1', disabled: true })
      const { version: _, ...after } = await state()
      const known = world.gateway()
      await known.catchUp()
      await world.goBack()
      const book = () => connected(ledger).then(() => wentBack.promise)
      const steps = [book, () => known.catchUp()]
      for (const step of order.startsWith('books') ? steps : steps.reverse()) await step()
      const { version, ...again } = await state()
      expect(again).toEqual(after)
      expect(world.failures).toEqual([])
    } finally {
      await ledger.close()
    }
  },
)

const TEXT = { id: 'key_1', keyHash: 'new', displayPrefix: 'sk-new' }

test('the earlier text of a key that `tollgate` rotated ends as it was to end after the database lost the new one', async () => {
  await addKeys('key_1', 'key_2')
  await world.keep()
  await commands(async (ledger) => {
    await ledger.rotateApiKey({ ...TEXT, graceMs: 0 })
    await ledger.rotateApiKey({ ...TEXT, id: 'key_2', keyHash: 'newer', graceMs: 3_600_000 })
  })
  const known = world.gateway()
  await known.catchUp()
  await world.goBack()
  await known.catchUp()
  expect((await state()).keys).toMatchObject([{ expires_at_ms: null }, { expires_at_ms: null }])
  await world.passHours(0.02)
  await known.catchUp()
  const [first, second] = (await state()).keys as readonly { expires_at_ms: number }[]
  expect(first?.expires_at_ms).toBeLessThanOrEqual(Date.now())
  expect(second?.expires_at_ms).toBeGreaterThan(Date.now() + 3_000_000)
  expect(world.reports).toEqual(['the rotation of an API key', 'the rotation of an API key'])
})

test('a key that a gateway rotates again after the database lost that does not end', async () => {
  await addKeys('key_1')
  const ledger = postgresLedger({
    url: world.database.url,
    wentBack: { instanceId: 'inst_1', onWentBack: () => {} },
  })
  try {
    await world.keep()
    await connected(ledger)
    await ledger.rotateApiKey({ ...TEXT, graceMs: 0 })
    const known = world.gateway()
    await known.catchUp()
    await world.goBack()
    await known.catchUp()
    await connected(ledger)
    await world.passHours(0.02)
    await known.catchUp()
    expect((await state()).keys).toMatchObject([{ id: 'key_1', expires_at_ms: null }])
    expect(world.reports).toEqual([])
  } finally {
    await ledger.close()
  }
})
