import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { MICROS_PER_DOLLAR } from '../../../src/vocabulary/money.ts'
import { estimateHold } from '../../api/calls.ts'
import { money } from '../../format/money.ts'
import { useSettled } from '../../parts/use-settled.ts'
import { useAccountId, useNameOf } from '../../shell/use-account.ts'
import type { SpokenFormat } from './formats.ts'
import { usePlaygroundKey } from './use-playground-key.ts'

const AFTER_MS = 400

type HoldEstimate = Awaited<ReturnType<typeof estimateHold>>

interface EstimateProps {
  /** The request that Send would send; null: there is none. */
  readonly next: { readonly body: object; readonly format: SpokenFormat } | null
}

/** The hold that the next request would need, asked for after a pause in typing. */
export function Estimate({ next }: EstimateProps) {
  const account = useAccountId()
  const asked = useSettled(next === null ? '' : JSON.stringify(next), AFTER_MS)
  const { data, isError } = useQuery({
    // A text, so that nothing is asked again for what is the same.
    queryKey: ['estimate', account, asked],
    queryFn: ({ signal }) => {
      const { body, format } = JSON.parse(asked)
      return estimateHold({ account_id: account, format }, body, signal)
    },
    enabled: asked !== '',
    placeholderData: keepPreviousData,
    // Typed text is kept no longer than it is shown.
    gcTime: 0,
    staleTime: AFTER_MS,
    retry: false,
  })
  if (next === null || data === undefined || isError) return null
  return (
    <p aria-live="polite">
      <EstimateText {...data} />
    </p>
  )
}

function EstimateText({ hold, available }: HoldEstimate) {
  const account = useAccountId()
  const params = { account }
  const key = usePlaygroundKey(account)
  const { name, role } = useNameOf(account)
  const isOther = role === 'operator'
  if (hold > available) {
    return (
      <>
        This needs a hold of <b>{holdText(hold)}</b>; {money(available)} is available.{' '}
        {available > 0 && 'Lower the output cap or '}
        {role === 'member' ? (
          `${available > 0 ? 'ask' : 'Ask'} an owner of the account to add credit`
        ) : (
          <Link className="link" to="/$account/credit" params={params}>
            {available > 0 ? 'add credit' : 'Add credit'}
          </Link>
        )}
        .
      </>
    )
  }
  if (key !== null && hold > key.leftMicros) {
    return (
      <>
        This needs a hold of <b>{holdText(hold)}</b>; the key “Playground” has{' '}
        {money(key.leftMicros)} left. Lower the output cap or{' '}
        <Link className="link" to="/$account/keys" params={params}>
          raise the limit
        </Link>
        .
      </>
    )
  }
  return (
    <>
      Holds up to <b>{holdText(hold)}</b> while it runs; {money(available)} is available.
      <br />
      {isOther ? <b>{name}</b> : 'You'} {isOther ? 'pays' : 'pay'} only what the answer costs.
    </>
  )
}

function holdText(holdMicros: number): string {
  return money(holdMicros, holdMicros < MICROS_PER_DOLLAR ? 4 : 2)
}
