import { useQuery } from '@tanstack/react-query'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import { asOperator } from '../../api/calls.ts'
import { type ListedPurchase, oneAccountQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Line } from '../../parts/drawer-part.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { methodName, paidText } from '../credit/purchase-words.ts'
import { OPERATOR_READS, useOperatorWrite } from './use-operator-write.ts'

/** The purchase to decide about. */
export interface PurchaseDialogProps {
  readonly purchase: ListedPurchase
  readonly onClose: () => void
}

/** Credits a purchase that is held, after saying what that does. */
export function CreditPurchase({ purchase, onClose }: PurchaseDialogProps) {
  const { id, account_id: accountId, credit } = purchase
  const { data: account } = useQuery(oneAccountQuery(accountId))
  const { balance = 0, held = 0, available = 0 } = account?.credit.backed ?? {}
  return (
    <Confirm
      title={`Add ${money(credit)} for this purchase?`}
      submit={`Add ${money(credit)}`}
      send={() => asOperator('creditPurchase', { purchase_id: id })}
      reads={OPERATOR_READS}
      done="Purchase approved."
      onClose={onClose}
    >
      <Facts purchase={purchase} />
      <p>
        {account === undefined
          ? `The account gets ${money(credit)} of paid credit.`
          : `${account.name} has ${money(available)} available now, and ${money(Math.max(0, balance + credit - held))} then.`}{' '}
        tollgate first asks the provider about the payment again. A part that was refunded meanwhile
        is not added.
      </p>
    </Confirm>
  )
}

/** Decides that a held purchase adds no credit, with the reason. */
export function DismissPurchase({ purchase, onClose }: PurchaseDialogProps) {
  const decide = useOperatorWrite(
    (note: string) => asOperator('dismissPurchase', { purchase_id: purchase.id, note }),
    () => {
      onClose()
      showToast('Purchase dismissed.')
    },
  )
  const refusal = refusalOf(decide.error, ['note'])
  return (
    <FormDialog
      title="Dismiss this purchase?"
      submit="Dismiss"
      isDangerous
      write={decide}
      problem={refusal.rest}
      onSubmit={(fields) => decide.mutate(String(fields.get('note')).trim())}
      onClose={onClose}
    >
      <Facts purchase={purchase} />
      <p>
        No credit is added for it. tollgate does not refund the payment: do that at the payment
        provider.
      </p>
      <Field
        label="Reason"
        name="note"
        required
        maxLength={TEXT_CHARS_MAX.dismissalNote}
        autoComplete="off"
        hint="For the record, such as: refunded on 21 November."
        error={refusal.at('note')}
      />
    </FormDialog>
  )
}

function Facts({ purchase }: { purchase: ListedPurchase }) {
  const { id, account_id: accountId, account_name: name, paid, payment_ref: ref, note } = purchase
  const mono = (text: string) => <span className="mono wrap-anywhere">{text}</span>
  return (
    <>
      <dl className="kv">
        <Line term="Account">
          {name} <span className="two">{mono(accountId)}</span>
        </Line>
        <Line term="Purchase">{mono(id)}</Line>
        <Line term="Method">{methodName(purchase)}</Line>
        {paid !== null && <Line term="Paid">{paidText(paid)}</Line>}
        {ref !== null && <Line term="Payment ID">{mono(ref)}</Line>}
      </dl>
      {note !== null && <p>On hold: {note}</p>}
    </>
  )
}
