import { Link } from '@tanstack/react-router'
import { showDollarText } from '../../../src/vocabulary/money.ts'
import { problemOfCode } from '../../../src/vocabulary/problem.ts'
import type { ActivityRequest, NamedRequest, OperatorRequest } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { count, percentOf } from '../../format/numbers.ts'
import { dayAndShortMinute, duration, exactTime } from '../../format/time.ts'
import { Line } from '../../parts/drawer-part.tsx'
import { useNow } from '../../parts/now.ts'
import { Prose } from '../../parts/prose.tsx'
import { Time } from '../../parts/time.tsx'
import { isEstimate, takenMs } from './request-words.ts'

type Usage = NonNullable<ActivityRequest['usage']>

/** When a request was opened, and how long its first byte and the whole answer took. */
export function Timeline({ request }: { request: ActivityRequest }) {
  const now = useNow()
  const openedMs = Date.parse(request.opened_at)
  const firstByteMs =
    request.first_byte_at === null ? null : Date.parse(request.first_byte_at) - openedMs
  const wholeMs = takenMs(request) ?? Math.max(0, now.getTime() - openedMs)
  const waitMs = firstByteMs ?? wholeMs
  return (
    <>
      <div className="line" aria-hidden="true">
        <i className="of-3" style={{ flex: Math.max(waitMs, wholeMs * 0.01, 1) }} />
        {wholeMs > waitMs && <i className="of-1" style={{ flex: wholeMs - waitMs }} />}
      </div>
      <div className="ticks">
        <Time at={request.opened_at} show={exactTime} />
        <span>
          {firstByteMs === null ? noByteText(request) : `first byte ${duration(firstByteMs)}`}
        </span>
        <span>{duration(wholeMs)}</span>
      </div>
    </>
  )
}

function noByteText({ ended_at: endedAt }: ActivityRequest): string {
  return endedAt === null ? 'no first byte yet' : 'no first byte'
}

/** The exact hold and charge; for operators, also the parts of the charge. */
export function Money({ request }: { request: ActivityRequest | OperatorRequest }) {
  const { hold, held, charge, overrun } = request
  return (
    <>
      <dl className="kv">
        <Line term="Held when it opened">{money(hold, 6)}</Line>
        {held > 0 && <Line term="Still held">{money(held, 6)}</Line>}
        {overrun > 0 && <Line term="Above the hold">{money(overrun, 6)}</Line>}
        <Line term={isEstimate(request) ? 'Charge (estimate)' : 'Charge'} className="tot">
          {money(charge, 6)}
        </Line>
        {'provider_cost' in request && <Cost request={request} />}
      </dl>
      {isEstimate(request) && (
        <p className="note mt-2">
          The provider reported no cost. The charge is an estimate from the tokens of the request.
        </p>
      )}
    </>
  )
}

function Cost({ request }: { request: OperatorRequest }) {
  const { provider_cost: cost, uncharged_provider_cost: uncharged, margin } = request
  return (
    <>
      <Line term="Provider cost">{cost === null ? 'not known' : showDollarText(cost)}</Line>
      {uncharged !== null && <Line term="Billed, not charged">{showDollarText(uncharged)}</Line>}
      <Line term="Fee">{percentOf(request.fee_basis_points)}</Line>
      <Line term="Margin">{margin === null ? 'not known' : money(margin, 6)}</Line>
    </>
  )
}

/** Tokens by kind, without kinds that the request does not have. */
export function Tokens({ usage }: { usage: Usage }) {
  const part = (term: string, tokens: number) =>
    tokens > 0 && (
      <Line term={term} className="sub">
        {count(tokens)}
      </Line>
    )
  return (
    <dl className="kv">
      <Line term="Input">{count(usage.input_tokens)}</Line>
      {part('read from cache', usage.cache_read_tokens)}
      {part('written to cache', usage.cache_write_tokens)}
      {part('written to cache, 1 h', usage.cache_write_long_tokens)}
      <Line term="Output">{count(usage.output_tokens)}</Line>
      {part('reasoning', usage.reasoning_tokens)}
      {part('images', usage.image_output_tokens)}
      {usage.searches > 0 && <Line term="Searches">{count(usage.searches)}</Line>}
    </dl>
  )
}

interface RequestDetailsProps {
  readonly request: ActivityRequest | OperatorRequest | NamedRequest
  readonly keyName: string | null
  /** Whether the request is shown in the list of all accounts. */
  readonly isAllAccounts: boolean
}

/** The endpoint, key and status of a request; for operators, also its upstream and generation ID. */
export function RequestDetails({ request, keyName, isAllAccounts }: RequestDetailsProps) {
  const { endpoint, stream, http_status, settled_at } = request
  return (
    <dl className="kv">
      {isAllAccounts && (
        <Line term="Account">
          <Link
            className="hover:underline"
            to="/operator/accounts/$account"
            params={{ account: request.account_id }}
          >
            {('account_name' in request ? request.account_name : null) ?? (
              <span className="mono">{request.account_id}</span>
            )}
          </Link>
        </Line>
      )}
      <Line term="Endpoint">
        {endpoint}
        {stream ? ', streamed' : ''}
      </Line>
      <Line term="Key">{keyName ?? <span className="mono">{request.key_id}</span>}</Line>
      {'upstream' in request && <Line term="Upstream">{request.upstream}</Line>}
      {'upstream' in request && request.generation_id !== null && (
        <Line term="Generation ID">
          <span className="mono">{request.generation_id}</span>
        </Line>
      )}
      {http_status !== null && <Line term="HTTP status">{http_status}</Line>}
      {settled_at !== null && (
        <Line term="Settled">
          <Time at={settled_at} show={dayAndShortMinute} />
        </Line>
      )}
    </dl>
  )
}

/** The cause of a failure and its remedy, in the words of the table of errors. */
export function Failure({ code }: { code: string }) {
  const problem = problemOfCode(code)
  return (
    <section>
      <h3>Error</h3>
      <p className="mono text-bad">{code}</p>
      {problem !== null && (
        <>
          <p className="mt-1.5">
            <Prose text={problem.meaning} />
          </p>
          <p className="mt-1.5 text-ink-2">
            <Prose text={problem.remedy} />
          </p>
        </>
      )}
    </section>
  )
}
