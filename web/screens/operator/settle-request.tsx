import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { chargeForStatedCost, parseDecimal } from '../../../src/vocabulary/money.ts'
import { asOperator } from '../../api/calls.ts'
import { oneAccountQuery, type UnsettledRequest } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { percentOf } from '../../format/numbers.ts'
import { Line } from '../../parts/drawer-part.tsx'
import { DollarField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { useOperatorWrite } from './use-operator-write.ts'

interface SettleRequestProps {
  readonly request: UnsettledRequest
  readonly onClose: () => void
}

/** Settles a request by its cost, and says in figures what that does. */
export function SettleRequest({ request, onClose }: SettleRequestProps) {
  const [cost, setCost] = useState('')
  const settle = useOperatorWrite(
    (typed: string) => asOperator('settleRequest', { request_id: request.id, cost: typed }),
    () => {
      onClose()
      showToast('Request settled.')
    },
  )
  const typed = cost.trim().replace(/^\$/, '')
  const decimal = parseDecimal(typed)
  const chargeMicros =
    decimal === null || decimal.digits < 0n
      ? null
      : chargeForStatedCost(decimal, request.fee_basis_points)
  const isWrong = typed !== '' && chargeMicros === null
  const refusal = refusalOf(settle.error, ['cost'])
  return (
    <FormDialog
      title="Settle the request"
      submit={chargeMicros === null ? 'Settle request' : `Charge ${money(chargeMicros, 6)}`}
      write={settle}
      problem={refusal.rest}
      onSubmit={() => {
        if (chargeMicros !== null) settle.mutate(typed)
      }}
      onClose={onClose}
    >
      <dl className="kv">
        <Line term="Account">{request.account_name}</Line>
        <Line term="Model">{request.model}</Line>
        <Line term="Request">
          <span className="mono wrap-anywhere">{request.id}</span>
        </Line>
        {request.generation_id !== null && (
          <Line term="Generation ID">
            <span className="mono wrap-anywhere">{request.generation_id}</span>
          </Line>
        )}
      </dl>
      <DollarField
        label="Provider cost"
        name="cost"
        required
        value={cost}
        onChange={(event) => setCost(event.target.value)}
        error={
          isWrong ? 'Enter the exact amount in dollars, such as 0.017648.' : refusal.at('cost')
        }
        hint="In dollars, with every decimal that the provider lists. 0 if it billed nothing."
      />
      <SettlePreview request={request} chargeMicros={chargeMicros} />
    </FormDialog>
  )
}

interface SettlePreviewProps {
  readonly request: UnsettledRequest
  readonly chargeMicros: number | null
}

function SettlePreview({ request, chargeMicros }: SettlePreviewProps) {
  const { account_name: name, held, charge, hold, fee_basis_points: fee } = request
  const { data: account } = useQuery(oneAccountQuery(request.account_id))
  const has =
    account === undefined ? '' : ` It has ${money(account.credit.backed.available)} available now.`
  if (chargeMicros === null) {
    return (
      <p aria-live="polite">
        {name} was charged {money(charge, 6)} for it so far, and {money(held, 6)} is held.{has}
      </p>
    )
  }
  const freed = held + charge - chargeMicros
  return (
    <p aria-live="polite">
      {name} is charged <b>{money(chargeMicros, 6)}</b>, the cost plus {percentOf(fee)}
      {charge > 0 && `, in place of the ${money(charge, 6)} so far`}. Its hold of {money(held, 6)}{' '}
      ends: {money(Math.abs(freed), 6)} {freed < 0 ? 'less' : 'more'} is available.{has}
      {chargeMicros > hold && ' The charge is above the hold that was opened.'} This is final.
    </p>
  )
}
