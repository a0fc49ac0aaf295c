import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { showDollarText } from '../../../src/vocabulary/money.ts'
import type {
  ActivityRequest,
  OperatorRequest,
  OperatorRequestPrices,
  RequestPrices,
} from '../../api/answers.ts'
import { requestPricesQuery } from '../../api/queries.ts'
import { money, perMillionText } from '../../format/money.ts'
import { count, percentOf } from '../../format/numbers.ts'
import { DrawerPart, Line } from '../../parts/drawer-part.tsx'
import { Grey, NotLoaded } from '../../parts/states.tsx'
import type { RequestSource } from './use-activity.ts'

type Kind = RequestPrices['lines'][number]['kind']

const TERMS: Readonly<Record<Kind, string>> = {
  input: 'Input',
  cache_read: 'Read from cache',
  cache_write: 'Written to cache',
  cache_write_long: 'Written to cache, 1 h',
  output: 'Output',
  reasoning: 'Reasoning',
  image_output: 'Image output',
  search: 'Searches',
  request: 'Request',
}

const NOT_SHOWN: readonly RequestPrices['basis'][] = ['estimate', 'none']

interface PricesProps {
  readonly request: ActivityRequest
  readonly source: RequestSource
}

/** Why a request cost what it cost: its tokens times their prices, or in words if the charge does not follow from them. */
export function Prices({ request, source }: PricesProps) {
  const query = useQuery(requestPricesQuery(request, source))
  const { data, isError } = query
  // The basis of an estimate is shown next to the charge.
  const isSaid = data === undefined ? request.estimated : NOT_SHOWN.includes(data.basis)
  if (request.charge === 0 || isSaid) return null
  return (
    <DrawerPart title="Why this charge">
      {data !== undefined ? (
        <Reason prices={data} request={request} />
      ) : isError ? (
        <p className="note">
          <NotLoaded what="The prices could not be loaded" query={query} />
        </p>
      ) : (
        <Grey width="100%" />
      )}
    </DrawerPart>
  )
}

interface ReasonProps {
  readonly prices: RequestPrices | OperatorRequestPrices
  readonly request: ActivityRequest | OperatorRequest
}

function Reason({ prices, request }: ReasonProps) {
  if (prices.basis === 'settled') return <Settled request={request} />
  if (prices.basis !== 'prices') {
    return (
      <p className="note">
        The charge follows the provider’s own report of its cost. It is not the tokens times the
        listed prices.
      </p>
    )
  }
  return 'fee_basis_points' in prices ? (
    <>
      <dl className="kv">
        {prices.lines.map(({ kind, quantity, provider_price, provider_cost }) => (
          <Product key={kind} kind={kind} quantity={quantity} price={provider_price}>
            {provider_cost}
          </Product>
        ))}
      </dl>
      <p className="note mt-2">
        At the provider’s prices. With the fee of {percentOf(prices.fee_basis_points)}, the charge
        is {money(prices.charge, 6)}.
      </p>
    </>
  ) : (
    <dl className="kv">
      {prices.lines.map(({ kind, quantity, price, charge }) => (
        <Product key={kind} kind={kind} quantity={quantity} price={price}>
          {charge}
        </Product>
      ))}
      <Line term="Sum, rounded" className="tot">
        {money(prices.charge, 6)}
      </Line>
    </dl>
  )
}

/** Operators read the cost that one of them entered, and find who it was. */
function Settled({ request }: Pick<ReasonProps, 'request'>) {
  if (!('provider_cost' in request) || request.provider_cost === null) {
    return (
      <p className="note">
        The operator settled this request: the charge follows the provider cost that the operator
        entered.
      </p>
    )
  }
  return (
    <p className="note">
      An operator settled this request at a provider cost of {showDollarText(request.provider_cost)}
      . With the fee of {percentOf(request.fee_basis_points)}, the charge is{' '}
      {money(request.charge, 6)}.{' '}
      <Link
        className="link"
        to="/operator/audit-log"
        search={{ account: request.account_id, kind: ['settleRequest'] }}
      >
        Audit log
      </Link>
    </p>
  )
}

interface ProductProps {
  readonly kind: Kind
  readonly quantity: number
  /** Dollars for one. */
  readonly price: string
  /** Dollars for all. */
  readonly children: string
}

/** `1,839 × $1.20 per million = $0.0022`. */
function Product({ kind, quantity, price, children }: ProductProps) {
  const isEach = kind === 'search' || kind === 'request'
  return (
    <Line term={TERMS[kind]}>
      {count(quantity)} ×{' '}
      {isEach ? showDollarText(price) : `${perMillionText(price) ?? ''} per million`} ={' '}
      {showDollarText(children)}
    </Line>
  )
}
