import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import { ApiError, isServerThere, NO_ANSWER } from '../api/client.ts'
import { minuteTime } from '../format/time.ts'
import { Prose } from './prose.tsx'
import { useServiceName } from './service-name.tsx'
import { createStore, useListed } from './store.ts'

interface FailedProps {
  /** The failure in words: "The keys could not be loaded." */
  readonly what: string
  /** The query that failed; read again by a button. */
  readonly query: { readonly error: Error | null; readonly refetch: () => unknown }
}

/** A failure to read, its cause, its request, and a button to try again. */
export function Failed({ what, query: { error, refetch } }: FailedProps) {
  const retry = () => void refetch()
  if (error instanceof ApiError && error.code === NO_ANSWER) return <Away onRetry={retry} />
  // Where the thing itself is not found, its own ID was asked for, and that of this call would be taken for it.
  const requestId = error instanceof ApiError && error.httpStatus !== 404 ? error.requestId : null
  return (
    <div className="blank" role="alert">
      <h2>{what}</h2>
      <p>
        <Prose text={error?.message ?? ''} />
      </p>
      {requestId !== null && (
        <p className="note">
          Request <span className="mono">{requestId}</span>
        </p>
      )}
      <button type="button" className="btn" onClick={retry}>
        Try again
      </button>
    </div>
  )
}

/** The server has a newer page, and a reload of this one would lose what was typed. */
export function OldPage() {
  const service = useServiceName()
  return (
    <div className="blank" role="alert">
      <h2>{service} was upgraded.</h2>
      <p>Reload the page to open this section. Unsaved text and the chat will be lost.</p>
      <button type="button" className="btn" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  )
}

/** A fault of the page itself. Most often tollgate was upgraded while it was open. */
export function PageBroken({ error }: { readonly error: Error }) {
  const service = useServiceName()
  return (
    <div className="blank" role="alert">
      <h2>The page could not be shown.</h2>
      <p>{service} may have been upgraded since this page was loaded. Reload it.</p>
      <p className="note">
        <span className="mono wrap-anywhere">{error.message}</span>
      </p>
      <button type="button" className="btn" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  )
}

/** The same within a sentence of a screen: "The counts could not be loaded", the cause, and a link to try again. */
export function NotLoaded({ what, query: { error, refetch } }: FailedProps) {
  return (
    <>
      {what}: <Prose text={error?.message ?? ''} />{' '}
      <button type="button" className="link" onClick={() => void refetch()}>
        Try again
      </button>
    </>
  )
}

const AGAIN_MS = 3_000

/** The messages that the server cannot be reached, oldest first: only the first is shown. */
const aways = createStore<readonly symbol[]>([])

/**
 * The server cannot be reached, which a screen says once: other cards that need it are hidden. Every 3 seconds a call asks whether it answers, and only then the data is read again:
 * a query that is read again counts as loading, so grey shapes would replace this message each time.
 */
export function Away({ onRetry }: { onRetry: () => void }) {
  const { isFirst } = useListed(aways)
  const service = useServiceName()
  const retry = useRef(onRetry)
  useEffect(() => {
    retry.current = onRetry
  })
  useEffect(() => {
    const timer = setInterval(async () => {
      if (await isServerThere()) retry.current()
    }, AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div className="blank away" role="alert" hidden={!isFirst}>
      <h2>{service} cannot be reached.</h2>
      <p>This page opens as soon as the server answers.</p>
      <button type="button" className="btn" onClick={onRetry}>
        Try again
      </button>
    </div>
  )
}

/** Says that the shown data is old, because the last attempt to read it failed. */
export function Stale({ query }: { query: UseQueryResult<unknown> }) {
  if (!query.isRefetchError) return null
  return (
    <p className="stale" role="status">
      <span>
        As of {minuteTime(new Date(query.dataUpdatedAt))}: <Prose text={query.error.message} />
      </span>
      <button type="button" onClick={() => query.refetch()}>
        Try again
      </button>
    </p>
  )
}

/** A call of a part of a card. */
export type Read = Pick<UseQueryResult<unknown>, 'data' | 'error' | 'refetch'>

/** Says in a line of a card that a part of it could not be loaded. Nothing, where it was, or where the screen says that the server is away. */
export function PartFailed({ what, query }: { readonly what: string; readonly query: Read }) {
  const { data, error, refetch } = query
  if (data !== undefined || error === null) return null
  if (error instanceof ApiError && error.code === NO_ANSWER) return null
  return (
    <p className="stale" role="status">
      <span>
        {what} could not be loaded. <Prose text={error.message} />
      </span>
      <button type="button" onClick={() => void refetch()}>
        Try again
      </button>
    </p>
  )
}

/** The same, for parts of several cards: "The top-ups", and its query. */
export function PartsFailed({ parts }: { readonly parts: Readonly<Record<string, Read>> }) {
  return (
    <div className="card mb-4 overflow-hidden empty:hidden">
      {Object.entries(parts).map(([what, query]) => (
        <PartFailed key={what} what={what} query={query} />
      ))}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children: ReactNode
}

/** Nothing to show yet, and the next step. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="blank">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** A grey shape of this size, shown until the answer arrives. */
export function Grey({ width, height = 14 }: { width: number | string; height?: number }) {
  return <span className="grey" style={{ width, height }} />
}

/** The shape of a form, shown until its data arrives. */
export function GreyForm() {
  return (
    <div className="grid gap-3" aria-busy="true" role="status" aria-label="Reading">
      <Grey width="45%" height={34} />
      <Grey width="100%" height={120} />
    </div>
  )
}
