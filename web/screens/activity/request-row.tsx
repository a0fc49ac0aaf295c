import { Link } from '@tanstack/react-router'
import { MICROS_PER_DOLLAR, showDollarText } from '../../../src/vocabulary/money.ts'
import type { ActivityRequest, NamedRequest, OperatorRequest } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { duration, listTime } from '../../format/time.ts'
import type { Head } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { useNow } from '../../parts/now.ts'
import { Time } from '../../parts/time.tsx'
import { isEstimate, requestWord, takenMs } from './request-words.ts'
import type { ActivitySearch } from './search.ts'

interface RequestHeadsProps {
  readonly isForOperators: boolean
  /** Whether the requests are of several accounts. */
  readonly isAllAccounts: boolean
}

/** The heads of the table of requests; operators also have upstream and cost. */
export function requestHeads({
  isForOperators,
  isAllAccounts,
}: RequestHeadsProps): readonly Head[] {
  const only = (isShown: boolean, head: Head) => (isShown ? [head] : [])
  return [
    { text: 'Time' },
    ...only(isAllAccounts, { text: 'Account', className: 'hide-m beside' }),
    { text: 'Model' },
    { text: 'Key', className: 'hide-s hide-m beside' },
    ...only(isForOperators, { text: 'Upstream', className: 'hide-s hide-m beside' }),
    { text: 'Tokens', className: 'num hide-t beside' },
    { text: 'Duration', className: 'num hide-m beside' },
    { text: 'Charge', className: 'num' },
    ...only(isForOperators, { text: 'Provider cost', className: 'num hide-m beside' }),
    { text: 'State' },
  ]
}

interface RequestRowProps {
  readonly request: ActivityRequest | NamedRequest
  readonly keyName: string
  readonly isAllAccounts: boolean
  /** The search of the address. */
  readonly search: ActivitySearch
  readonly isOpen: boolean
  readonly isFresh: boolean
  readonly onOpen: (requestId: string) => void
}

/** A request: on a phone, a card of two lines. */
export function RequestRow(props: RequestRowProps) {
  const { request, keyName, isAllAccounts, search, isOpen, isFresh, onOpen } = props
  const { word, tone } = requestWord(request)
  const time = <Time at={request.opened_at} show={listTime} />
  return (
    <tr
      aria-current={isOpen ? 'true' : undefined}
      className={isFresh ? 'fresh' : ''}
      onClick={(event) => {
        if (!event.defaultPrevented) onOpen(request.id)
      }}
    >
      <td className="hide-s">{time}</td>
      {isAllAccounts && (
        <td className="hide-s hide-m beside of-account">
          <AccountName request={request} />
        </td>
      )}
      <td className="model">
        <Link
          className="open-it"
          data-request={request.id}
          to="."
          search={{ ...search, request: request.id } as never}
          replace={isOpen}
          resetScroll={false}
          preload={false}
          title={`${request.model}, key ${keyName}`}
        >
          <ModelName id={request.model} />
        </Link>
        <span className="two only-m">
          <span className="flex">
            <span className="truncate">
              {isAllAccounts ? (
                <AccountName request={request} />
              ) : (
                <span title={keyName}>{keyName}</span>
              )}
            </span>
            {request.usage !== null && (
              <span className="only-t whitespace-pre">
                {' · '}
                <Tokens request={request} /> tokens
              </span>
            )}
          </span>
        </span>
      </td>
      <td className="hide-s hide-m beside of-key text-ink-2" title={keyName}>
        {keyName}
      </td>
      {'upstream' in request && (
        <td className="hide-s hide-m beside text-ink-2">{request.upstream}</td>
      )}
      <td className="num hide-s hide-t beside">
        <Tokens request={request} />
      </td>
      <td className="num hide-s hide-m beside">
        <Taken request={request} />
      </td>
      <td className="num">
        <Charge request={request} />
        {'provider_cost' in request && request.provider_cost !== null && (
          <span className="two only-m">
            cost <Cost request={request} />
          </span>
        )}
      </td>
      {'provider_cost' in request && (
        <td className="num hide-s hide-m beside">
          <Cost request={request} />
        </td>
      )}
      <td className="only-s dimmed">
        {time} · {isAllAccounts ? <AccountName request={request} /> : keyName}
      </td>
      <td>
        <span className={`chip ${tone}`} title={request.error_code ?? undefined}>
          {word}
        </span>
      </td>
    </tr>
  )
}

function AccountName({ request }: { request: ActivityRequest | NamedRequest }) {
  const name = 'account_name' in request ? request.account_name : null
  const id = request.account_id
  return <span title={name === null ? id : `${name}, ${id}`}>{name ?? id}</span>
}

function Tokens({ request: { usage } }: { request: ActivityRequest }) {
  if (usage === null) return <span className="dimmed">–</span>
  return (
    <>
      {count(usage.input_tokens)} <span className="dimmed">→</span> {count(usage.output_tokens)}
    </>
  )
}

function Taken({ request }: { request: ActivityRequest }) {
  const elapsedMs = takenMs(request)
  if (elapsedMs !== null) return duration(elapsedMs)
  return request.state === 'open' ? <Running since={request.opened_at} /> : <>–</>
}

/** The time that a request has run, in whole seconds. */
function Running({ since }: { since: string }) {
  const seconds = Math.max(0, Math.floor((useNow().getTime() - Date.parse(since)) / 1_000))
  return <span className="dimmed">{seconds} s</span>
}

/** The provider's cost to six places. The drawer has all places. */
function Cost({ request: { provider_cost: cost } }: { request: OperatorRequest }) {
  if (cost === null) return <span className="dimmed">–</span>
  return (
    <span title={showDollarText(cost)}>
      {money(Math.round(Number(cost) * MICROS_PER_DOLLAR), 4)}
    </span>
  )
}

function Charge({ request }: { request: ActivityRequest }) {
  const { state, held, charge } = request
  if (state === 'open' || state === 'unresolved') {
    return <span className="dimmed">held {money(held, 4)}</span>
  }
  if (charge === 0) return <span className="dimmed">$0.00</span>
  return (
    <>
      {isEstimate(request) && (
        <>
          <abbr className="dimmed" title="Estimate: the provider reported no cost">
            est.
          </abbr>{' '}
        </>
      )}
      {money(charge, 4)}
    </>
  )
}
