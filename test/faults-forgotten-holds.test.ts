import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listRequests } from '../src/ledger/activity/activity.ts'
import { parseDatabaseUrl } from '../src/store/database-url.ts'
import { createPostgresDatabase } from '../src/store/testing/postgres.ts'
import { startSeveringProxy } from '../src/store/testing/severing-proxy.ts'
import { MADE_DATABASES, type TestDatabase } from '../src/store/testing/test-databases.ts'
import { HANG_LIMITS } from './hang-limits.ts'
import { startWorld, type World } from './world.ts'

const TEN_MINUTES_MS = 600_000
const CHAT = '{"model":"sim/text","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}'
const STREAM = CHAT.replace('{', '{"stream":true,')

let database: TestDatabase
let world: World
let nowMs: number

async function open(url = database.url): Promise<void> {
  nowMs = Date.now()
  world = await startWorld({ settings: { DATABASE_URL: url }, clock: { nowMs: () => nowMs } })
}

function send(apiKey: string, body: string): Promise<Response> {
  return world.send(apiKey, body)
}

async function states(): Promise<string[]> {
  const { requests } = await listRequests(world.gateway.store.db, { limit: 100 })
  return requests.map(({ state }) => state)
}

/** Statements of another program, on its own connection. */
async function runSql(sql: { readonly sqlite: string; readonly postgres: string }): Promise<void> {
  const location = parseDatabaseUrl(database.url)
  if (location.kind === 'sqlite') {
    const connection = new DatabaseSync(location.file, { timeout: HANG_LIMITS.testTimeout })
    connection.exec(sql.sqlite)
    connection.close()
    return
  }
  const client = new Client(location.url)
  await client.connect()
  await client.query(sql.postgres)
  await client.end()
}

const REFUSE_FINAL = {
  sqlite: `create trigger refuse_final before insert on requests when new.state = 'final'
    begin select raise(abort, 'refused by the test'); end`,
  postgres: `create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused by the test'; end $$;
    create trigger refuse_final before insert on requests
      for each row when (new.state = 'final') execute function refuse()`,
}

const REFUSE_NOTHING = {
  sqlite: 'drop trigger refuse_final',
  postgres: 'drop trigger refuse_final on requests',
}

for (const { engine, create } of MADE_DATABASES) {
  describe(engine, () => {
    beforeEach(async () => {
      database = await create()
      await open()
    })

    afterEach(async () => {
      await world.close()
      await database.remove()
    })

    test('a settle that the store refused is retried, and charged as soon as the store accepts it', async () => {
      const { id, apiKey } = await world.account()
      await runSql(REFUSE_FINAL)
      // The charge of an answer without a generation id is final at once.
      world.simulator.script({ omit: ['id', 'generationHeader'] })
      const answer = await send(apiKey, CHAT)
      expect(answer.status, await answer.text()).toBe(200)
      expect(await states()).toEqual(['open'])
      // It is not forgotten: its settle waits.
      expect(await world.gateway.forgottenHolds.look()).toBe(0)

      await runSql(REFUSE_NOTHING)
      await world.gateway.settled()
      expect(await states()).toEqual(['final'])
      expect(await world.backedBalanceMicros(id)).toBeLessThan(10_000_000)
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
      expect(await world.gateway.forgottenHolds.look()).toBe(0)
    })

    test('a stream of ten minutes and an answer that takes ten minutes keep their holds', async () => {
      const { apiKey } = await world.account()
      world.simulator.script([
        { hold: { afterEvents: 2 }, gate: 'stream' },
        { hold: 'beforeHeaders', gate: 'whole' },
      ])
      const stream = await send(apiKey, STREAM)
      const whole = send(apiKey, CHAT)
      await world.simulator.gate('whole').arrived()
      for (let round = 0; round < 20; round++) {
        nowMs += TEN_MINUTES_MS / 20
        expect(await world.gateway.forgottenHolds.look()).toBe(0)
      }
      expect(await states()).toEqual(['open', 'open'])
      world.simulator.gate('stream').release()
      world.simulator.gate('whole').release()
      expect(await stream.text()).toContain('[DONE]')
      expect((await whole).status).toBe(200)
      await (await whole).text()
      await world.gateway.settled()
      expect(await states()).not.toContain('unresolved')
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })

    test('constant looks for forgotten holds end no hold of 200 running requests', async () => {
      const { apiKeys } = await world.account({ apiKeys: 25 })
      let sending = true
      const looking = (async () => {
        let abandoned = 0
        while (sending) abandoned += await world.gateway.forgottenHolds.look()
        return abandoned
      })()
      await Promise.all(
        apiKeys.flatMap((apiKey) =>
          Array.from({ length: 8 }, async (_, place) => {
            const answer = await send(apiKey, place % 2 === 0 ? CHAT : STREAM)
            expect(answer.status, await answer.text()).toBe(200)
          }),
        ),
      )
      await world.gateway.settled()
      sending = false
      expect(await looking).toBe(0)
      expect(world.log.join('')).not.toContain('forgotten')
      expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
    })
  })
}

test('a committed hold whose answer is still on its way is not treated as forgotten', async () => {
  database = await createPostgresDatabase()
  const proxy = await startSeveringProxy(database.url)
  await open(proxy.url)
  const { apiKey } = await world.account()
  // The values of a hold that is saved; its commit comes with them or behind them.
  proxy.stallAfter('"price_snapshot_id":')
  const answer = send(apiKey, CHAT)
  await expect.poll(states).toEqual(['open'])
  expect(await world.gateway.forgottenHolds.look()).toBe(0)
  expect(await states()).toEqual(['open'])

  // The answer is lost for good: now the hold is unsure, and known as such.
  proxy.shut()
  expect((await answer).status).toBe(503)
  proxy.open()
  await world.gateway.ledger.sure()
  expect(await states()).toEqual(['released'])
  expect(await world.gateway.forgottenHolds.look()).toBe(0)
  expect(await world.audit()).toMatchObject({ ok: true, differences: [] })
  await world.close()
  await proxy.close()
  await database.remove()
})
