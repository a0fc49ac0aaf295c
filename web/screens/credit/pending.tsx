import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { purchaseIdOf } from '../../../src/vocabulary/purchase.ts'
import type { Entry, PendingPurchase } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { boughtQuery, cameBackQuery, paymentPage } from '../../api/sale.ts'
import { useSend } from '../../api/use-write.ts'
import { money } from '../../format/money.ts'
import { ago } from '../../format/time.ts'
import { Prose } from '../../parts/prose.tsx'
import { Failed, Stale } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'
import { ReceiptLink } from './entry-words.tsx'
import { byMethod, CHECKED, NEXT_STEPS, purchaseWords } from './purchase-words.ts'

/**
 * Purchases that may still become credit, and those that have while one looks on. `bought` is the purchase that
 * a payment page has led back from; null: none has.
 */
export function Pending({ bought }: { bought: string | null }) {
  const accountId = useAccountId()
  const query = useQuery(boughtQuery(accountId))
  useLookUp(bought)
  const pending = query.data?.pending ?? []
  const credited = useCredited(query.data?.data, bought)
  if (query.data === undefined && query.isError) {
    return (
      <section className="card mb-4">
        <Failed what="The pending purchases could not be loaded." query={query} />
      </section>
    )
  }
  if (pending.length + credited.length === 0) return null
  const title = pending.length === 0 ? 'Credit added' : 'Pending purchases'
  return (
    <section className="card mb-4 overflow-hidden" aria-label={title}>
      <header className="pb-2">
        <h2>{title}</h2>
      </header>
      <Stale query={query} />
      <ul className="needs" aria-live="polite">
        {credited.map((entry) => (
          <li key={entry.id}>
            <div className="min-w-0 flex-1">
              <b>{money(entry.amount)} was added</b>
              <p>
                It pays for requests from now on. <ReceiptLink entry={entry} />
              </p>
            </div>
            <span className="chip good">Credited</span>
          </li>
        ))}
        {pending.map((purchase) => (
          <PendingItem
            key={purchase.id ?? purchase.transaction?.hash}
            purchase={purchase}
            cameBack={bought !== null && purchase.id === bought}
          />
        ))}
      </ul>
    </section>
  )
}

interface PendingItemProps {
  readonly purchase: PendingPurchase
  /** Whether the buyer has come back from its payment page: it must not read as one to pay again. */
  readonly cameBack: boolean
}

function PendingItem({ purchase, cameBack }: PendingItemProps) {
  const isOwner = useAccountName().role !== 'member'
  const { id, state } = purchase
  const isChecked = cameBack && state === 'open'
  const { word, tone } = isChecked ? CHECKED : purchaseWords(purchase)
  return (
    <li>
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
          <span className="text-ink-2">
            <b className="text-ink">{money(purchase.credit)}</b> {byMethod(purchase)},{' '}
            <Time at={purchase.created_at} show={ago} />
          </span>
          <span className={`chip ${tone}`}>{word}</span>
        </div>
        <p>{isChecked ? CHECKED.step : NEXT_STEPS[state]}</p>
        {state === 'open' && !isChecked && id !== null && isOwner && <Continue purchaseId={id} />}
      </div>
    </li>
  )
}

/** Has the payment provider asked about the purchase whose payment page one came back from, so that its credit is not waited for. */
function useLookUp(bought: string | null): void {
  const accountId = useAccountId()
  const queries = useQueryClient()
  const isOwner = useAccountName().role !== 'member'
  const isAsked = bought !== null && isOwner
  const { data } = useQuery({ ...cameBackQuery(accountId, bought ?? ''), enabled: isAsked })
  const isOver = data !== undefined && data.state !== 'open'
  useEffect(() => {
    if (isOver) void queries.invalidateQueries({ queryKey: boughtQuery(accountId).queryKey })
  }, [isOver, accountId, queries])
}

/** Returns to the page of an unfinished payment. */
function Continue({ purchaseId }: { purchaseId: string }) {
  const accountId = useAccountId()
  const resume = useSend({
    mutationFn: () =>
      asMember('resumePurchase', { account_id: accountId, purchase_id: purchaseId }),
    onSuccess: ({ url }) => window.location.assign(paymentPage(url)),
  })
  return (
    <>
      <button
        type="button"
        className="btn mt-2"
        aria-disabled={resume.isPending}
        onClick={() => resume.mutate()}
      >
        {resume.isPending ? 'Opening the payment' : 'Continue payment'}
      </button>
      {resume.isError && (
        <div className="problem mt-2" role="alert">
          <Prose text={resume.error.message} />
        </div>
      )}
    </>
  )
}

/**
 * The purchases that have become credit since the page was opened, and the one that it was led back from. A deposit has
 * no ID while it is pending, so entries tell. Data that their credit changes is read again.
 */
function useCredited(
  entries: readonly Entry[] | undefined,
  bought: string | null,
): readonly Entry[] {
  const accountId = useAccountId()
  const queries = useQueryClient()
  const [earlier, setEarlier] = useState<readonly string[] | null>(null)
  const purchases = (entries ?? []).filter(({ kind }) => kind === 'purchase')
  if (earlier === null && entries !== undefined) setEarlier(purchases.map(({ id }) => id))
  const reversed = new Set(
    (entries ?? []).flatMap(({ kind, reference }) =>
      kind === 'reversal' && reference !== null ? [purchaseIdOf(reference)] : [],
    ),
  )
  const credited = purchases.filter(
    ({ id, reference }) =>
      reference !== null &&
      !reversed.has(reference) &&
      (reference === bought || (earlier !== null && !earlier.includes(id))),
  )
  const count = credited.length
  useEffect(() => {
    if (count === 0) return
    for (const name of ['balance', 'entries', 'overview', 'account']) {
      void queries.invalidateQueries({ queryKey: [name, accountId] })
    }
  }, [count, accountId, queries])
  return credited
}
