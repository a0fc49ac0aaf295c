import { Link } from '@tanstack/react-router'
import { entryName } from '../../../src/vocabulary/entry-words.ts'
import { purchaseIdOf } from '../../../src/vocabulary/purchase.ts'
import type { Entry } from '../../api/answers.ts'
import { shortId } from '../../format/ids.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'

type Named = Pick<Entry, 'kind' | 'amount' | 'reference'> & { purse: Entry['purse'] | null }

/** The name of an entry, with its purse unless the name implies it. */
export function EntryWord({ entry }: { entry: Named }) {
  const word = entryName(entry)
  return (
    <>
      <b>{word}</b>
      {entry.purse === 'free' && !word.startsWith('Free') && (
        <span className="dimmed"> free credit</span>
      )}
    </>
  )
}

type Origins = Pick<Entry, 'kind' | 'reference' | 'request_id'>

/** The link to the receipt of a purchase, and of a refund or dispute of one. */
export function ReceiptLink({ entry: { kind, reference } }: { entry: Origins }) {
  const account = useAccountId()
  const paths = useAccountPaths()
  if ((kind !== 'purchase' && kind !== 'reversal') || reference === null) return null
  return (
    <Link
      className="link font-sans"
      from={paths.credit}
      to={paths.credit}
      params={{ account }}
      search={(before) => ({ ...before, receipt: purchaseIdOf(reference) })}
      resetScroll={false}
    >
      Receipt
    </Link>
  )
}

/** A reference, or the purchase of a refund; its ID is cut in its middle where a window has no room for it. */
export function Reference({ entry: { kind, reference } }: { entry: Origins }) {
  if (reference === null) return null
  if (kind !== 'purchase' && kind !== 'reversal') return <span title={reference}>{reference}</span>
  return (
    <span title={reference}>
      <span className="max-[961px]:hidden">{purchaseIdOf(reference)}</span>
      <span className="whitespace-nowrap min-[961px]:hidden">
        {shortId(purchaseIdOf(reference))}
      </span>
    </span>
  )
}

/** The request that was charged, or the reference of credit. */
export function Origin({ entry }: { entry: Origins }) {
  const { request_id: request } = entry
  const account = useAccountId()
  const paths = useAccountPaths()
  if (request === null) {
    return (
      <>
        <Reference entry={entry} /> <ReceiptLink entry={entry} />
      </>
    )
  }
  return (
    <Link
      className="hover:underline"
      title={request}
      to={paths.activity}
      params={{ account }}
      search={{ range: 'all', request }}
    >
      <span className="max-[961px]:hidden">{request}</span>
      <span className="whitespace-nowrap min-[961px]:hidden">{shortId(request)}</span>
    </Link>
  )
}
