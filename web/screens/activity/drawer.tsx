import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { ActivityRequest } from '../../api/answers.ts'
import { pollDelayMs } from '../../api/live.ts'
import { requestQuery } from '../../api/queries.ts'
import { DrawerHead, DrawerPart, Words } from '../../parts/drawer-part.tsx'
import { Failed, Grey } from '../../parts/states.tsx'
import { Failure, Money, RequestDetails, Timeline, Tokens } from './drawer-parts.tsx'
import { Prices } from './prices.tsx'
import { isUnsettled, type KeyNameOf, requestWord, stateNote } from './request-words.ts'
import { type RequestSource, useIsAllAccounts } from './use-activity.ts'

interface DrawerProps {
  readonly requestId: string
  /** The request as the list has it; undefined: it is not in the list. */
  readonly row: ActivityRequest | undefined
  readonly source: RequestSource
  readonly keyNameOf: KeyNameOf
  readonly onClose: () => void
}

const COVERS_THE_LIST = '(max-width: 1200px)'

/** One request in full: next to the list, or over it in a small window. */
export function Drawer({ requestId, row, source, keyNameOf, onClose }: DrawerProps) {
  const query = useQuery({
    ...requestQuery(requestId, source),
    enabled: row === undefined,
    retry: false,
    refetchInterval: ({ state }) =>
      state.data !== undefined && isUnsettled(state.data) ? pollDelayMs(0) : false,
  })
  const request = row ?? query.data
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    if (!matchMedia(COVERS_THE_LIST).matches) return
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <aside className="card drawer" aria-label="Request">
      <DrawerHead
        noun="request"
        title={request?.model ?? 'Request'}
        id={requestId}
        heading={heading}
        onClose={onClose}
      />
      {request !== undefined ? (
        <Parts request={request} keyName={keyNameOf(request)} source={source} />
      ) : query.isError ? (
        <Failed what="The request could not be loaded." query={query} />
      ) : (
        <Shape />
      )}
    </aside>
  )
}

interface PartsProps {
  readonly request: ActivityRequest
  readonly keyName: string | null
  readonly source: RequestSource
}

function Parts({ request, keyName, source }: PartsProps) {
  const { word, tone } = requestWord(request)
  const isAllAccounts = useIsAllAccounts()
  return (
    <>
      <section>
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <span className={`chip ${tone}`}>{word}</span>
          <span className="note">{stateNote(request)}</span>
        </div>
        <Timeline request={request} />
      </section>
      {request.error_code !== null && <Failure code={request.error_code} />}
      <DrawerPart title="Money">
        <Money request={request} />
      </DrawerPart>
      {request.usage !== null && (
        <DrawerPart title="Tokens">
          <Tokens usage={request.usage} />
        </DrawerPart>
      )}
      <Prices request={request} source={source} />
      <DrawerPart title="Request">
        <RequestDetails request={request} keyName={keyName} isAllAccounts={isAllAccounts} />
      </DrawerPart>
      {request.tags.length > 0 && (
        <DrawerPart title="Tags">
          <Words words={request.tags} />
        </DrawerPart>
      )}
    </>
  )
}

function Shape() {
  return (
    <section className="grid gap-3" aria-hidden="true">
      <Grey width={80} height={20} />
      <Grey width="100%" height={10} />
      <Grey width="100%" />
      <Grey width="90%" />
      <Grey width="100%" />
    </section>
  )
}
