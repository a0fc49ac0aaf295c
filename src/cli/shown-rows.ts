import type { z } from 'zod'
import { listShape } from '../operations/fields.ts'
import type { Answered } from '../operations/operation.ts'
import { type Shown, show, type Taken } from './operation-command.ts'
import { table } from './table.ts'
import { nextPlace, readPlace } from './typed-values.ts'

type PagedList = Parameters<typeof readPlace>[0]

interface Columns<Row> {
  /** The list that `--after` is a place of. */
  readonly list: PagedList
  /** What is said where there are no rows. */
  readonly none: string
  /** Cells by heading. */
  readonly columns: Readonly<Record<string, (row: Row) => string>>
}

/** How rows of a shape are shown: one by itself, or a page of them. */
export function shownRows<Shape extends z.ZodType>(
  shape: Shape,
  { list, none, columns }: Columns<z.output<Shape>>,
): Readonly<Record<'one' | 'page', (answered: Answered) => Shown>> {
  const inTable = (rows: readonly z.output<Shape>[]): string =>
    table(
      Object.keys(columns),
      rows.map((row) => Object.values(columns).map((cell) => cell(row))),
    )
  return {
    one: show(shape, (row) => ({ out: inTable([row]) })),
    page: show(listShape(shape), ({ data, next_cursor }) => {
      const next = nextPlace(list, next_cursor)
      return {
        out: data.length === 0 ? none : inTable(data),
        ...(next === null ? {} : { note: `more: --after ${next}` }),
      }
    }),
  }
}

/** The options of every list; `what` is what `--after` names. */
export function listOptions(list: PagedList, what: string): readonly Taken[] {
  return [
    { flags: '--limit <rows>', words: 'how many, 1 to 100', to: 'query.limit', fallback: '20' },
    {
      flags: '--after <place>',
      words: `continue after this ${what}, or from a next_cursor`,
      to: 'query.cursor',
      read: readPlace(list),
    },
  ]
}
