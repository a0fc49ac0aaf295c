import { useState } from 'react'
import { asOperator, type Input } from '../../api/calls.ts'
import { currentTime } from '../../api/clock.ts'
import type { CreatedCode } from '../../api/operator.ts'
import { AMOUNT_FAULT, money, readMoney } from '../../format/money.ts'
import { DollarField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { type Expiry, ExpiryField, expiryTime } from '../keys/expiry-field.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

interface CreateCodeProps {
  readonly onClose: () => void
  readonly onMade: (code: CreatedCode) => void
}

/** The form for a new code. */
export function CreateCode({ onClose, onMade }: CreateCodeProps) {
  const [amount, setAmount] = useState('')
  const [expiry, setExpiry] = useState<Expiry>({ kind: 'never' })
  const create = useOperatorWrite(
    (fields: Input<'createCode', 'operator'>) => asOperator('createCode', fields),
    onMade,
  )
  const amountMicros = readMoney(amount)
  const isWrong = amount.trim() !== '' && (amountMicros === null || amountMicros === 0)
  const refusal = refusalOf(create.error, ['amount', 'expires_at'])
  const submit = () => {
    if (amountMicros === null || amountMicros === 0) return
    create.mutate({ amount: amountMicros, expires_at: expiryTime(expiry, currentTime()) })
  }
  return (
    <FormDialog
      title="Create code"
      submit={`Create ${amountMicros === null ? 'code' : `a code of ${money(amountMicros)}`}`}
      write={create}
      problem={refusal.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <DollarField
        label="Amount"
        name="amount"
        required
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        error={isWrong ? AMOUNT_FAULT : refusal.at('amount')}
        hint="Paid credit for the account that redeems it, once."
      />
      <ExpiryField
        value={expiry}
        onChange={setExpiry}
        error={refusal.at('expires_at')}
        then="From then on, the code can’t be redeemed."
        never="The code can be redeemed until it is revoked."
      />
    </FormDialog>
  )
}
