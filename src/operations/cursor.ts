/** The list that a cursor is a place of. */
export type ListName = 'accounts' | 'keys' | 'entries' | 'purchases' | 'codes' | 'requests'

/** A place in a list. */
interface Cursor {
  readonly list: ListName
  /** What the page before ended with. */
  readonly after: string
}

// What ids and entry numbers are written with: a store need not take any other character.
const PLACE = /^\w+$/

/** A cursor as clients see it: text that means nothing to them. */
export function writeCursor({ list, after }: Cursor): string {
  return Buffer.from(`${list} ${after}`).toString('base64url')
}

/** Reads a client's cursor of a list; null: it is none of this list's. */
export function readCursor({
  list,
  text,
}: {
  readonly list: ListName
  readonly text: string
}): string | null {
  const [named, after, ...more] = Buffer.from(text, 'base64url').toString().split(' ')
  const isWhole = named === list && after !== undefined && more.length === 0 && PLACE.test(after)
  return isWhole && writeCursor({ list, after }) === text ? after : null
}
