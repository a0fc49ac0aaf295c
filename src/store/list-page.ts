import { type SelectQueryBuilder, type Simplify, sql } from 'kysely'
import type { Tables } from './schema.ts'

/** Selects a page of a list. */
export interface Page {
  /** The last id of the page before; null or absent: the first page. */
  readonly cursor?: string | null | undefined
  readonly limit: number
}

/** One page of a list. */
export interface ListPage<Row> {
  readonly rows: readonly Row[]
  /** The last id of the page, which selects the next one; null: no page follows. */
  readonly nextCursor: string | null
}

/** Reads one page of a query, in the order of ids, which is that of time. By position: the query, and its page. */
export async function readPage<
  Name extends keyof Tables,
  Stored,
  Row extends { readonly id: string },
>(
  query: SelectQueryBuilder<Tables, Name, Stored>,
  {
    idColumn = 'id',
    order = 'desc',
    cursor,
    limit,
    read,
  }: Page & {
    /** Default `id`: with the name of its table, where the query joins several. */
    readonly idColumn?: string
    /** Default: newest first. */
    readonly order?: 'asc' | 'desc'
    readonly read: (stored: Simplify<Stored>) => Row
  },
): Promise<ListPage<Row>> {
  const column = sql.ref<string>(idColumn)
  const following =
    cursor == null ? query : query.where(column, order === 'desc' ? '<' : '>', cursor)
  const found = await following
    .orderBy(column, order)
    .limit(limit + 1)
    .execute()
  return pageOf(found.map(read), limit)
}

/** The page of rows that were read with one more, by which it is known that a page follows. */
export function pageOf<Row extends { readonly id: string }>(
  found: readonly Row[],
  limit: number,
): ListPage<Row> {
  const rows = found.slice(0, limit)
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
}
