import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failed, Stale } from '../parts/states.tsx'

interface AnswerProps<Data> {
  readonly query: UseQueryResult<Data>
  /** The noun for the data: "overview". */
  readonly noun: string
  /** The grey shape of it. */
  readonly grey: ReactNode
  readonly children: (data: Data) => ReactNode
}

/** Cards of one answer, or that it is still read, could not be loaded, or is old. */
export function Answer<Data>({ query, noun, grey, children }: AnswerProps<Data>) {
  const { data } = query
  if (data === undefined && query.isError) {
    return (
      <section className="card">
        <Failed what={`The ${noun} could not be loaded.`} query={query} />
      </section>
    )
  }
  return (
    <>
      <div className={query.isRefetchError ? 'card mb-4 overflow-hidden' : ''}>
        <Stale query={query} />
      </div>
      {data === undefined ? (
        <div aria-busy="true" role="status" aria-label={`Reading the ${noun}`}>
          {grey}
        </div>
      ) : (
        children(data)
      )}
    </>
  )
}
