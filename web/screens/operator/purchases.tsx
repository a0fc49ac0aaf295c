import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type ListedPurchase, type PurchaseList, purchasesQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { listTime } from '../../format/time.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { ListCard, Older } from '../../parts/list-card.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { byMethod, paidText, purchaseWords } from '../credit/purchase-words.ts'
import { ReversalChip } from '../credit/reversal-chip.tsx'
import { CreditPurchase, DismissPurchase, type PurchaseDialogProps } from './purchase-dialogs.tsx'

const route = getRouteApi('/operator/purchases')

const LISTS = [
  { value: 'held', text: 'On hold' },
  { value: 'reversed', text: 'Refunds and disputes' },
  { value: 'all', text: 'All' },
] as const

// Up to the width of a laptop, the credit is below the account, so that IDs are whole.
const BELOW_NAME = 'hidden min-[641px]:max-[1201px]:inline'

const HEADS = [
  { text: 'Purchase' },
  { text: 'State' },
  { text: 'Credit', className: 'num hide-m' },
  { text: 'Paid', className: 'num hide-m' },
  { text: 'Time', className: 'hide-m' },
  { text: 'Decide', isHidden: true },
] as const

type Decision = Omit<PurchaseDialogProps, 'onClose'> & { readonly kind: 'credit' | 'dismiss' }

/** The purchases of accounts, and those that wait for a decision, for operators. */
export function PurchasesScreen() {
  const { list = 'held' } = { list: useFirstList(), ...route.useSearch() }
  const navigate = route.useNavigate()
  const [decision, setDecision] = useState<Decision | null>(null)
  const query = useInfiniteQuery(purchasesQuery(list))
  const rows = query.data?.pages.flatMap(({ data }) => data)
  const close = () => setDecision(null)
  return (
    <>
      <ScreenTop title="Purchases">
        <Segments
          label="List"
          options={LISTS}
          value={list}
          onChange={(next) => void navigate({ search: { list: next } })}
        />
      </ScreenTop>
      {rows?.length !== 0 && (
        <p className="note mb-3.5">
          To refund a card payment, use its payment ID below at the card provider. tollgate then
          removes the credit within a minute.
        </p>
      )}
      <ListCard
        label="Purchases"
        query={query}
        rows={rows}
        empty={<Nothing list={list} />}
        heads={HEADS}
        greyRows={6}
        row={(purchase) => (
          <PurchaseRow
            key={purchase.id}
            purchase={purchase}
            onDecide={(kind) => setDecision({ kind, purchase })}
          />
        )}
      >
        <Older query={query} noun="purchase" />
      </ListCard>
      {decision?.kind === 'credit' && (
        <CreditPurchase purchase={decision.purchase} onClose={close} />
      )}
      {decision?.kind === 'dismiss' && (
        <DismissPurchase purchase={decision.purchase} onClose={close} />
      )}
    </>
  )
}

/**
 * The list that is shown first: what waits for a decision, else all; undefined: that is not known yet. It stays when the
 * last purchase is decided.
 */
function useFirstList(): PurchaseList | undefined {
  const { data } = useInfiniteQuery(purchasesQuery('held'))
  const [first, setFirst] = useState<PurchaseList>()
  if (first === undefined && data !== undefined) {
    setFirst(data.pages.some((page) => page.data.length > 0) ? 'held' : 'all')
  }
  return first
}

const NOTHING = {
  held: {
    title: 'No purchases on hold.',
    words: 'Payments that differ from their purchase, or are above a ceiling, appear here.',
  },
  reversed: {
    title: 'No refunds or disputes.',
    words: 'Purchases that were refunded or disputed at the card provider appear here.',
  },
  all: { title: 'No purchases yet.', words: 'Purchases by card or with stablecoins appear here.' },
} as const

function Nothing({ list }: { readonly list: PurchaseList }) {
  const { title, words } = NOTHING[list]
  return (
    <Empty title={title}>
      <p>{words}</p>
    </Empty>
  )
}

interface PurchaseRowProps {
  readonly purchase: ListedPurchase
  readonly onDecide: (kind: Decision['kind']) => void
}

function PurchaseRow({ purchase, onDecide }: PurchaseRowProps) {
  const {
    id,
    account_id: accountId,
    account_name: name,
    state,
    credit,
    reversal,
    reversed,
    paid,
    payment_ref: paymentRef,
    note,
  } = purchase
  const { word, tone } = purchaseWords(purchase)
  const left = `${money(reversed)} removed, ${money(credit - reversed)} left`
  const isOpen = state === 'held' || state === 'below_minimum'
  return (
    <tr>
      <td className="name wide min-[641px]:max-[1201px]:w-[52%]!">
        <Link
          className="hover:underline"
          to="/operator/accounts/$account"
          params={{ account: accountId }}
        >
          <b title={name}>{name}</b>
        </Link>
        <span className="two wrap-anywhere">
          <span className="mono whitespace-nowrap">{id}</span>, {byMethod(purchase)}
          <span className={BELOW_NAME}>
            , {money(credit)}
            {reversed > 0 && `, ${left}`}
          </span>
        </span>
        {paymentRef !== null && (
          <span className="two wrap-anywhere">
            paid as <span className="mono">{paymentRef}</span>
          </span>
        )}
        {note !== null && <span className="two wrap-anywhere">{note}</span>}
      </td>
      <td>
        <span className={`chip ${tone}`}>{state === 'held' ? 'On hold' : word}</span>
        {state !== 'credited' && reversal !== null && (
          <>
            {' '}
            <ReversalChip reversal={reversal} />
          </>
        )}
      </td>
      <td className="num hide-m">
        {money(credit)}
        {reversed > 0 && <span className="two">{left}</span>}
      </td>
      <td className="num hide-s hide-m">
        {paid === null ? <span className="dimmed">–</span> : paidText(paid)}
      </td>
      <td className="hide-s hide-m text-ink-2">
        <Time at={purchase.created_at} show={listTime} />
      </td>
      <td className="num wide">{isOpen && <Decide purchase={purchase} onDecide={onDecide} />}</td>
    </tr>
  )
}

/** The buttons of a purchase that waits for a decision. */
function Decide({ purchase: { account_name: name, credit }, onDecide }: PurchaseRowProps) {
  const of = `${money(credit)} of ${name}`
  return (
    <span className="inline-flex gap-2 min-[641px]:max-[1280px]:flex-col">
      <RowButton text="Approve" of={of} onClick={() => onDecide('credit')} />
      <RowButton text="Dismiss" of={of} onClick={() => onDecide('dismiss')} />
    </span>
  )
}
