import { z } from 'zod'

/** A page of a list whose items have this shape. */
export function listShape<T extends z.ZodType>(item: T) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z
      .string()
      .nullable()
      .describe('The `cursor` of the next page; null on the last page.'),
  })
}

/** A page of a list as it is answered. */
interface ListAnswer<T> {
  readonly object: 'list'
  readonly data: readonly T[]
  readonly has_more: boolean
  /** Null: there is no next page. */
  readonly next_cursor: string | null
}

/** Makes the answer of a page. */
export function listAnswer<T>(items: readonly T[], nextCursor: string | null): ListAnswer<T> {
  return {
    object: 'list',
    data: items,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
  }
}
