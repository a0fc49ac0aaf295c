import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import type { ActivityRequest } from '../../api/answers.ts'
import { ApiError } from '../../api/client.ts'
import { keysQuery, modelsQuery, requestQuery } from '../../api/queries.ts'
import { money } from '../../format/money.ts'
import { count, counted } from '../../format/numbers.ts'
import { duration } from '../../format/time.ts'
import { Prose } from '../../parts/prose.tsx'
import { SignInElsewhere } from '../../parts/sign-in-elsewhere.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { isUnsettled, takenMs } from '../activity/request-words.ts'
import type { Run } from './chat-store.ts'
import { refusalWords } from './refusal-words.ts'

/** How the latest request ended, what it cost, and what to do about an error. */
export function Outcome({ run }: { run: Run }) {
  switch (run.kind) {
    case 'none':
      return null
    case 'running':
      return (
        <p className="outcome" role="status">
          <span className="chip busy">Answering</span>
        </p>
      )
    case 'stopped':
      return (
        <p className="outcome" role="status">
          <span className="chip off">Stopped</span>
          <Cost requestId={run.requestId} />
        </p>
      )
    case 'ended':
      return (
        <p className="outcome" role="status">
          {run.reason === 'length' && <span className="chip wait">Ended by the output cap</span>}
          <Cost requestId={run.requestId} />
        </p>
      )
    case 'failed':
      return (
        <div className="problem" role="alert">
          <p>
            <Prose text={refusalWords(run.error.message)} />
          </p>
          <NextStep error={run.error} />
          {/* Its answer had begun, so that it was charged for what came. */}
          {run.error instanceof ApiError && run.error.httpStatus === 200 && (
            <p className="outcome">
              <Cost requestId={run.requestId} />
            </p>
          )}
        </div>
      )
  }
}

const ASK_AGAIN_MS = 700
const ASK_AGAIN_LATER_MS = 10_000

function isSettling(request: ActivityRequest | undefined): boolean {
  return request === undefined || isUnsettled(request)
}

function Cost({ requestId }: { requestId: string | null }) {
  if (requestId === null) return <span>Stopped before the answer started.</span>
  return <Charge requestId={requestId} isLatest />
}

interface ChargeProps {
  readonly requestId: string
  /** Whether it is the charge of the latest request. */
  readonly isLatest?: boolean
}

/** The charge, tokens and times of a request, polled until it is settled. */
export function Charge({ requestId, isLatest = false }: ChargeProps) {
  const account = useAccountId()
  const { data } = useQuery({
    ...requestQuery(requestId, { as: 'member', accountId: account }),
    staleTime: ({ state: { data: request } }) =>
      isSettling(request) ? 0 : Number.POSITIVE_INFINITY,
    refetchInterval: ({ state: { data: request } }) =>
      isSettling(request) &&
      (isLatest && (request === undefined || request.state === 'open')
        ? ASK_AGAIN_MS
        : ASK_AGAIN_LATER_MS),
  })
  const queries = useQueryClient()
  const isCharged = isLatest && data !== undefined && data.state !== 'open'
  // The first request makes the key “Playground”, and each changes what is left of its limit.
  useEffect(() => {
    if (isCharged) void queries.invalidateQueries({ queryKey: keysQuery(account).queryKey })
  }, [isCharged, queries, account])
  const { usage = null } = data ?? {}
  return (
    <>
      {data !== undefined && <span className="num">{costWords(data)}</span>}
      {usage !== null && (
        <span className="num dimmed">
          {counted(usage.input_tokens, 'token')} in, {count(usage.output_tokens)} out
        </span>
      )}
      {data !== undefined && <Times request={data} />}
      <Link
        className="link"
        to="/$account/activity"
        params={{ account }}
        search={{ request: requestId }}
      >
        Open in Activity
      </Link>
    </>
  )
}

function Times({ request }: { request: ActivityRequest }) {
  const { opened_at: openedAt, first_byte_at: firstByteAt } = request
  const elapsedMs = takenMs(request)
  if (firstByteAt === null || elapsedMs === null) return null
  return (
    <span className="num dimmed">
      first byte {duration(Date.parse(firstByteAt) - Date.parse(openedAt))}, {duration(elapsedMs)}{' '}
      in all
    </span>
  )
}

function costWords({ state, charge, held }: Pick<ActivityRequest, 'state' | 'charge' | 'held'>) {
  if (state === 'open' || state === 'unresolved') {
    return `${money(held, 4)} is held until its cost is known`
  }
  return `Charged ${money(charge, 4)}`
}

/** The list of models is older than the refusal: it is read again, so that the model is not picked again. */
function ModelGone() {
  const account = useAccountId()
  const queries = useQueryClient()
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: modelsQuery(account).queryKey })
  }, [queries, account])
  return <p>Choose another model, then send the message again.</p>
}

/** The page on which an error can be fixed. */
function NextStep({ error }: { error: Error }): ReactNode {
  const account = useAccountId()
  if (!(error instanceof ApiError)) return null
  const params = { account }
  switch (error.code) {
    case 'insufficient_credit':
      return (
        <p>
          <Link className="link" to="/$account/credit" params={params}>
            See the credit
          </Link>
        </p>
      )
    case 'account_suspended':
      return null
    case 'key_limit_reached':
      return (
        <p>
          The Playground uses a separate key, which has a limit.{' '}
          <Link className="link" to="/$account/keys" params={params}>
            Raise the limit of “Playground”
          </Link>
        </p>
      )
    case 'api_key_disabled':
    case 'api_key_expired':
      return (
        <p>
          The Playground uses the key “Playground”.{' '}
          <Link className="link" to="/$account/keys" params={params}>
            Change this key under Keys
          </Link>
        </p>
      )
    case 'free_credit_not_eligible':
      return (
        <p>
          <Link className="link" to="/$account/models" params={params} search={{ open: true }}>
            See the models that free credit pays for
          </Link>
        </p>
      )
    case 'model_not_found':
    case 'model_not_allowed':
      return <ModelGone />
    case 'output_cap_required':
      return <p>Set an output cap: this model lists no maximum.</p>
    case 'not_signed_in':
      return <SignInElsewhere />
    default:
      return error.retryAfterSeconds === null ? null : (
        <p>Send it again in {counted(error.retryAfterSeconds, 'second')}.</p>
      )
  }
}
