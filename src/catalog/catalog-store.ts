import type { Kysely } from 'kysely'
import { PRICE_SNAPSHOTS, type PriceSnapshotRow, type Tables } from '../store/schema.ts'
import type { CatalogSave, CatalogStore, StoredModel } from './stored-catalog.ts'

/** The catalog in the store's tables: one list at a time, of one upstream. */
export function createCatalogStore(db: Kysely<Tables>): CatalogStore {
  return {
    async load(source) {
      const state = await db
        .selectFrom('catalog_state')
        .select('refreshed_at_ms')
        .where('source', '=', source)
        .executeTakeFirst()
      if (state === undefined) return null
      const rows = await db
        .selectFrom('catalog_models')
        .select(['id', 'item_json'])
        .where('source', '=', source)
        .orderBy('id')
        .execute()
      return {
        refreshedAtMs: Number(state.refreshed_at_ms),
        models: rows.map((row) => ({ modelId: row.id, itemJson: row.item_json })),
      }
    },

    async save(refresh) {
      // What is there is read before the write lock is taken: requests need that lock for their holds,
      // and a refresh rarely changes more than a row or two. Another process that saves in between has
      // read the same upstream, and whatever is missed is written at the next refresh.
      const changes = await changesOf(db, refresh)
      await db.transaction().execute((transaction) => apply(transaction, { refresh, changes }))
    },
  }
}

// Below the number of parameters that any engine takes in one statement.
const ROWS_A_STATEMENT = 200

interface Changes {
  readonly models: readonly StoredModel[]
  readonly removedIds: readonly string[]
  readonly snapshots: readonly PriceSnapshotRow[]
}

async function changesOf(db: Kysely<Tables>, refresh: CatalogSave): Promise<Changes> {
  const stored = await db.selectFrom('catalog_models').selectAll().execute()
  const storedById = new Map(stored.map((row) => [row.id, row]))
  const models = refresh.models.filter(({ modelId, itemJson }) => {
    const row = storedById.get(modelId)
    return row === undefined || row.item_json !== itemJson || row.source !== refresh.source
  })
  const listedIds = new Set(refresh.models.map((model) => model.modelId))
  const known = new Set<string>()
  for (const some of chunks(refresh.snapshots)) {
    const found = await db
      .selectFrom('price_snapshots')
      .select('id')
      .where(
        'id',
        'in',
        some.map((snapshot) => snapshot.id),
      )
      .execute()
    for (const row of found) known.add(row.id)
  }
  return {
    models,
    removedIds: stored.map((row) => row.id).filter((id) => !listedIds.has(id)),
    snapshots: refresh.snapshots.filter((snapshot) => !known.has(snapshot.id)),
  }
}

interface ApplyInput {
  readonly refresh: CatalogSave
  readonly changes: Changes
}

async function apply(db: Kysely<Tables>, { refresh, changes }: ApplyInput): Promise<void> {
  const { source, refreshedAtMs } = refresh
  for (const some of chunks(changes.removedIds)) {
    await db.deleteFrom('catalog_models').where('id', 'in', some).execute()
  }
  for (const some of chunks(changes.models)) {
    await db
      .insertInto('catalog_models')
      .values(some.map(({ modelId, itemJson }) => ({ id: modelId, source, item_json: itemJson })))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((values) => ({
          source: values.ref('excluded.source'),
          item_json: values.ref('excluded.item_json'),
        })),
      )
      .execute()
  }
  for (const some of chunks(changes.snapshots)) {
    await db
      .insertInto('price_snapshots')
      .values(some.map((snapshot) => PRICE_SNAPSHOTS.record(snapshot)))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }
  await db
    .insertInto('catalog_state')
    .values({ id: 1, source, refreshed_at_ms: refreshedAtMs })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ source, refreshed_at_ms: refreshedAtMs }),
    )
    .execute()
}

function* chunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    yield rows.slice(start, start + ROWS_A_STATEMENT)
  }
}
