import { useQuery } from '@tanstack/react-query'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import { type Answer, asMember } from '../../api/calls.ts'
import { billingQuery } from '../../api/sale.ts'
import { useWrite } from '../../api/use-write.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { DialogForm } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { Failed, GreyForm } from '../../parts/states.tsx'
import { useAccountId } from '../../shell/use-account.ts'

type Billing = Answer<'getBilling', 'member'>['billing']

/** The buyer on receipts, which an owner changes. */
export function BillingDetails({ onClose }: { readonly onClose: () => void }) {
  const query = useQuery(billingQuery(useAccountId()))
  return (
    <Dialog title="Billing details" onClose={onClose}>
      {query.data !== undefined ? (
        <BillingForm billing={query.data.billing} onClose={onClose} />
      ) : query.isError ? (
        <Failed what="The billing details could not be loaded." query={query} />
      ) : (
        <GreyForm />
      )}
    </Dialog>
  )
}

interface BillingFormProps {
  readonly billing: Billing
  readonly onClose: () => void
}

function BillingForm({ billing, onClose }: BillingFormProps) {
  const accountId = useAccountId()
  const change = useWrite(
    (changed: Billing) => asMember('changeBilling', { account_id: accountId, billing: changed }),
    { reads: [['billing']], onDone: onClose },
  )
  const refusal = refusalOf(change.error, ['billing'])
  const textOf = (fields: FormData, name: string) => String(fields.get(name) ?? '').trim() || null
  return (
    <DialogForm
      write={change}
      problem={refusal.at('billing') ?? refusal.rest}
      submit="Save"
      onSubmit={(fields) =>
        change.mutate({
          name: textOf(fields, 'billing_name'),
          address: textOf(fields, 'address'),
          tax_id: textOf(fields, 'tax_id'),
        })
      }
      onClose={onClose}
    >
      <p className="note">
        The buyer on receipts of purchases from now on. Earlier receipts stay as they are. If empty,
        receipts have the name and email of the account.
      </p>
      <Field
        label="Name or company"
        name="billing_name"
        autoComplete="organization"
        maxLength={TEXT_CHARS_MAX.name}
        defaultValue={billing?.name ?? ''}
        error={null}
      />
      <Field
        label="Address"
        name="address"
        autoComplete="street-address"
        maxLength={TEXT_CHARS_MAX.buyerAddress}
        hint="On one line, such as Kai 3, 20457 Hamburg, Germany."
        defaultValue={billing?.address ?? ''}
        error={null}
      />
      <Field
        label="Tax ID"
        name="tax_id"
        autoComplete="off"
        maxLength={TEXT_CHARS_MAX.taxId}
        defaultValue={billing?.tax_id ?? ''}
        error={null}
      />
    </DialogForm>
  )
}
