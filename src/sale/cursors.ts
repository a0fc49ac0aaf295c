import type { Kysely } from 'kysely'
import { SALE_CURSORS, type SaleCursorRow } from '../store/sale-tables.ts'
import type { Tables } from '../store/schema.ts'

/** How far a source of payments was looked at; null: it never was. */
export async function readCursor(
  db: Kysely<Tables>,
  source: string,
): Promise<SaleCursorRow | null> {
  return SALE_CURSORS.readOne(
    db.selectFrom('sale_cursors').selectAll().where('source', '=', source),
  )
}

/**
 * Moves a cursor, unless another gateway has moved it since it was read, even if it has come back. False: it was moved,
 * and stays.
 */
export async function moveCursor(
  db: Kysely<Tables>,
  { from, to }: { readonly from: SaleCursorRow | null; readonly to: SaleCursorRow },
): Promise<boolean> {
  const { source, ...moved } = SALE_CURSORS.record(to)
  if (from === null) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('sale_cursors')
      .values({ source, ...moved })
      .onConflict((conflict) => conflict.column('source').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await db
    .updateTable('sale_cursors')
    .set(moved)
    .where('source', '=', source)
    .where('position', '=', from.position)
    .where('looked_at_ms', '=', from.lookedAtMs)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
