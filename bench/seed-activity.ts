import { DatabaseSync } from 'node:sqlite'
import { DAY_MS } from '../src/vocabulary/clock.ts'
import { firstIdOf } from '../src/vocabulary/ids.ts'
import type { SeededKey } from './seed-store.ts'

interface SeedActivityInput {
  /** The file of a SQLite store that no process has open. */
  readonly file: string
  /** Each has about as many of the requests. */
  readonly apiKeys: readonly SeededKey[]
  readonly requests: number
  /** How many days they are spread over. Default 30. */
  readonly days?: number
  /** The models that they name. Default one. */
  readonly modelIds?: readonly string[]
}

/** Requests of the past that are in a store before a gateway serves it. */
export interface SeededActivity {
  readonly requests: number
  /** All of them together. None of them is a stream. */
  readonly chargedMicros: number
}

const CHARGE = { costUsd: '0.0001', costMicros: 100, micros: 105 }

/** The requests that are written, by their numbers. */
interface Past {
  readonly apiKeys: readonly SeededKey[]
  readonly requests: number
  readonly modelIds: readonly string[]
  atMs(number: number): number
  requestId(number: number): string
}

/**
 * Writes requests of the past, settled and charged, straight into the tables, as fast as SQLite
 * can: the store is not safe against a crash meanwhile.
 */
export function seedActivity(input: SeedActivityInput): SeededActivity {
  const { file, requests } = input
  if (requests === 0) return { requests: 0, chargedMicros: 0 }
  const past = pastOf(input)
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma journal_mode = off; pragma synchronous = off')
    withoutIndexes(database, () => {
      database.exec('begin')
      insertRequests(database, past)
      insertEntries(database, past)
      chargeOwners(database, past)
      database.exec('commit')
    })
    database.exec('pragma journal_mode = wal')
  } finally {
    database.close()
  }
  return { requests, chargedMicros: requests * CHARGE.micros }
}

/** Drops the indexes, runs `write` and makes them again, which is faster than maintaining them. */
function withoutIndexes(database: DatabaseSync, write: () => void): void {
  const indexes = database
    .prepare(
      "select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name in ('requests', 'entries')",
    )
    .all()
  for (const { name } of indexes) database.exec(`drop index "${name}"`)
  write()
  for (const { sql } of indexes) database.exec(String(sql))
}

// Requests come in turns from all keys, so that the one of that number is known without being read.
function insertRequests(database: DatabaseSync, past: Past): void {
  const { apiKeys, requests, modelIds } = past
  const insert = database.prepare(
    `insert into requests (id, account_id, api_key_id, instance_id, endpoint, model_id, stream,
       state, cost_usd, cost_micros, cost_rest_pico, price_snapshot_id, http_status, generation_id, input_tokens, output_tokens,
       cache_read_tokens, cache_write_tokens, cache_write_long_tokens, reasoning_tokens,
       image_output_tokens, searches, opened_at_ms, first_byte_at_ms, ended_at_ms, settled_at_ms, backed_granted_micros,
       backed_charge_micros)
     values (?, ?, ?, 'inst_seeded', 'chat', ?, 0, 'final', '${CHARGE.costUsd}', ${CHARGE.costMicros}, 0,
       'price_seeded', 200, ?, 250, 64, 0, 0, 0, 0, 0, 0, ?, ?, ?, ?, 5000, ${CHARGE.micros})`,
  )
  for (let number = 0; number < requests; number++) {
    const { accountId, apiKeyId } = ownerOf(apiKeys, number)
    const atMs = past.atMs(number)
    // Each key uses a few models.
    const place = (number % apiKeys.length) + (Math.floor(number / apiKeys.length) % 3)
    const modelId = modelIds[place % modelIds.length] ?? ''
    const firstByteAtMs = atMs + 100 + ((number * 7_919) % 3_000)
    const requestId = past.requestId(number)
    const generationId = `gen-${number}`
    insert.run(
      ...[requestId, accountId, apiKeyId, modelId, generationId],
      ...[atMs, firstByteAtMs, firstByteAtMs, firstByteAtMs],
    )
  }
}

function insertEntries(database: DatabaseSync, past: Past): void {
  const { apiKeys, requests, requestId } = past
  const insert = database.prepare(
    `insert into entries (account_id, number, kind, purse, amount_micros, request_id, api_key_id,
       created_at_ms)
     values (?, ?, 'charge', 'backed', -${CHARGE.micros}, ?, ?, ?)`,
  )
  const placesOf = Map.groupBy(apiKeys.keys(), (place) => apiKeys[place]?.accountId ?? '')
  // Account by account, which is the order of the table's own index, and by time.
  for (const [accountId, places] of placesOf) {
    let entryNumber = 1
    for (let turn = 0; turn < requests; turn += apiKeys.length) {
      for (const number of places.map((place) => turn + place)) {
        if (number >= requests) break
        entryNumber += 1
        const { apiKeyId } = ownerOf(apiKeys, number)
        insert.run(accountId, entryNumber, requestId(number), apiKeyId, past.atMs(number))
      }
    }
  }
}

function chargeOwners(database: DatabaseSync, { apiKeys, requests }: Past): void {
  const chargeKey = database.prepare(
    'update api_keys set spend_micros = spend_micros + ? where id = ?',
  )
  const chargeAccount = database.prepare(
    `update accounts set backed_balance_micros = backed_balance_micros - ?,
       entry_count = entry_count + ? where id = ?`,
  )
  for (const [place, { accountId, apiKeyId }] of apiKeys.entries()) {
    const count = Math.max(0, Math.ceil((requests - place) / apiKeys.length))
    chargeKey.run(count * CHARGE.micros, apiKeyId)
    chargeAccount.run(count * CHARGE.micros, count, accountId)
  }
}

function ownerOf(apiKeys: readonly SeededKey[], number: number): SeededKey {
  const owner = apiKeys[number % apiKeys.length]
  if (owner === undefined) throw new Error('activity needs keys')
  return owner
}

function pastOf({ apiKeys, requests, days, modelIds }: SeedActivityInput): Past {
  const pastMs = (days ?? 30) * DAY_MS
  const startMs = Date.now() - pastMs
  const atMs = (number: number): number => startMs + Math.floor((pastMs * number) / requests)
  return {
    apiKeys,
    requests,
    modelIds: modelIds ?? ['sim/text'],
    atMs,
    requestId(number) {
      const first = firstIdOf({ prefix: 'req', timeMs: atMs(number) })
      return `${first}${number.toString(32).padStart(16, '0')}`
    },
  }
}
