import { type FormEvent, useState } from 'react'
import { asOperator, type Input } from '../../api/calls.ts'
import type { CreatedCode } from '../../api/operator.ts'
import { money, readMoney } from '../../format/money.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { DollarField } from '../../parts/field.tsx'
import { FormEnd } from '../../parts/form-end.tsx'
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
  const { error } = create
  const refusal = refusalOf(error, ['amount', 'expires_at'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (amountMicros === null || amountMicros === 0) return
    create.mutate({ amount: amountMicros, expires_at: expiryTime(expiry, new Date()) })
  }
  return (
    <Dialog title="Create code" onClose={onClose}>
      <form className="contents" onSubmit={submit}>
        <DollarField
          label="Amount"
          name="amount"
          required
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
          error={isWrong ? 'Type an amount in dollars, such as 5 or 0.25.' : refusal.at('amount')}
          hint="Paid credit for the account that redeems it, once."
        />
        <ExpiryField
          value={expiry}
          onChange={setExpiry}
          error={refusal.at('expires_at')}
          then="From then on, the code can’t be redeemed."
          never="The code can be redeemed until it is revoked."
        />
        <FormEnd problem={refusal.rest} onCancel={onClose} isDisabled={create.isPending}>
          Create {amountMicros === null ? 'code' : `a code of ${money(amountMicros)}`}
        </FormEnd>
      </form>
    </Dialog>
  )
}
