import type { InfiniteData, UseInfiniteQueryResult, UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { counted } from '../format/numbers.ts'
import { Prose } from './prose.tsx'
import { Failed, Grey, Stale } from './states.tsx'

/** The head of a column. */
export interface Head {
  readonly text: string
  /** `num`: figures, on the right. `hide-m`: not on tablets. */
  readonly className?: string
  /** Whether only screen readers get it, such as the head of a column of buttons. */
  readonly isHidden?: true
  /** Sorts the rows by this column, on phones too narrow for heads not. Default: it can't be sorted by. */
  readonly sort?: {
    readonly direction: 'ascending' | 'descending' | 'none'
    readonly onSort: () => void
  }
}

/** The heads of a table. */
export function Heads({ heads }: { heads: readonly Head[] }) {
  return (
    <thead>
      <tr>
        {heads.map(({ text, className, isHidden, sort }) => (
          <th key={text} scope="col" className={className} aria-sort={sort?.direction}>
            {isHidden === true ? (
              <span className="vh">{text}</span>
            ) : sort === undefined ? (
              text
            ) : (
              <SortButton text={text} {...sort} />
            )}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function SortButton({ text, direction, onSort }: NonNullable<Head['sort']> & { text: string }) {
  return (
    <>
      <button type="button" className="sort hide-s" onClick={onSort}>
        {text}
        <svg viewBox="0 0 8 12" aria-hidden="true" className={direction}>
          <path d="M4 1 7 4.5H1z" />
          <path d="M4 11 1 7.5h6z" />
        </svg>
      </button>
      <span className="only-s">{text}</span>
    </>
  )
}

interface GreyRowsProps {
  readonly rows: number
  readonly heads: readonly Head[]
}

/** Grey rows of a table below its heads, shown until the answer arrives. On phones, two cells of each. */
export function GreyRows({ rows, heads }: GreyRowsProps) {
  return (
    <tbody aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a grey row is its place
        <tr key={row}>
          {heads.map(({ text, className = '' }, column) => (
            <td key={text} className={column > 1 ? `${className} hide-s` : className}>
              <Grey width={`${48 + ((row * 7 + column * 13) % 40)}%`} />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  )
}

/** How rows are sorted by a column. By position: the column, and the order: a column, with a minus the largest first. */
export function directionOf(
  column: string,
  order: string | undefined,
): NonNullable<Head['sort']>['direction'] {
  if (order === column) return 'ascending'
  return order === `-${column}` ? 'descending' : 'none'
}

interface ListCardProps<Row> {
  readonly label: string
  /** The class of the table. */
  readonly className?: string
  /** Above the table. Default: nothing. */
  readonly header?: ReactNode
  readonly query: UseQueryResult<unknown>
  /** Undefined: the answer has not arrived yet. */
  readonly rows: readonly Row[] | undefined
  /** Default: "The codes could not be loaded.", by the label. */
  readonly failed?: string
  /** The content of a list without rows. */
  readonly empty: ReactNode
  readonly heads: readonly Head[]
  /** The number of grey rows that are shown until the answer arrives. */
  readonly greyRows: number
  /** A row, with its `key`. */
  readonly row: (row: Row) => ReactNode
  /** Below the table. Default: nothing. */
  readonly children?: ReactNode
}

/** A card with a table: its rows, or that there are none, that they are still read, or that they can't be. */
export function ListCard<Row>(props: ListCardProps<Row>) {
  const { label, header, query, rows, empty, heads, greyRows, row, children } = props
  const { className = '', failed = `The ${label.toLowerCase()} could not be loaded.` } = props
  return (
    <section
      className="card overflow-hidden"
      aria-label={label}
      aria-busy={rows === undefined || query.isPlaceholderData}
    >
      {header}
      {rows === undefined && query.isError ? (
        <Failed what={failed} query={query} />
      ) : rows?.length === 0 ? (
        empty
      ) : (
        <>
          <Stale query={query} />
          <table className={`cards ${className}`} aria-label={label}>
            <Heads heads={heads} />
            {rows === undefined ? (
              <GreyRows rows={greyRows} heads={heads} />
            ) : (
              <tbody>{rows.map(row)}</tbody>
            )}
          </table>
        </>
      )}
      {children}
    </section>
  )
}

interface OlderProps {
  readonly query: UseInfiniteQueryResult<InfiniteData<{ readonly data: readonly unknown[] }>>
  /** A row: "code". */
  readonly noun: string
  /** The shown rows, in words. Default: "The newest 50 codes". */
  readonly shown?: string
  /** The text of the button. Default: "Older codes". */
  readonly text?: string
}

async function fetchOlder(query: OlderProps['query']): Promise<void> {
  if (query.isFetchingNextPage) return
  // The next page would end a poll under way, and with it the news of a change just made.
  if (query.isFetching) await query.refetch({ cancelRefetch: false })
  await query.fetchNextPage()
}

/** The end of a list with further pages: a button for the next page, and why that could not be loaded. */
export function Older({ query, noun, shown, text = `Older ${noun}s` }: OlderProps) {
  if (!query.hasNextPage) return null
  const rows = query.data?.pages.reduce((sum, { data }) => sum + data.length, 0) ?? 0
  return (
    <footer className="pager">
      <span>{shown ?? `The newest ${counted(rows, noun)}`}</span>
      {query.isFetchNextPageError && (
        <span className="text-bad">
          <Prose text={query.error.message} />
        </span>
      )}
      <button
        type="button"
        className="btn"
        aria-disabled={query.isFetchingNextPage}
        onClick={() => void fetchOlder(query)}
      >
        {query.isFetchNextPageError ? 'Try again' : text}
      </button>
    </footer>
  )
}
