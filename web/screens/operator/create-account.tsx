import { type FormEvent, useState } from 'react'
import type { Account } from '../../api/answers.ts'
import { asOperator } from '../../api/calls.ts'
import { readPercent } from '../../format/numbers.ts'
import { NO_TERMS, type Terms } from '../../format/terms.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { FormEnd } from '../../parts/form-end.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { isOfTerms, TermsFields, useTerms } from '../../parts/terms-fields.tsx'
import { FeeField } from './fee-field.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

interface CreateAccountProps {
  readonly onClose: () => void
  readonly onMade: (account: Account) => void
}

/** A new account, without credit. */
export function CreateAccount({ onClose, onMade }: CreateAccountProps) {
  const create = useOperatorWrite(
    (fields: AccountFields) => asOperator('createAccount', fields),
    onMade,
  )
  return (
    <Dialog title="Create account" onClose={onClose}>
      <AccountForm create={create} onCancel={onClose} />
    </Dialog>
  )
}

type AccountFields = Pick<Account, 'name' | 'email' | 'fee_basis_points'> & Terms

interface AccountFormProps {
  readonly create: ReturnType<typeof useOperatorWrite<AccountFields, Account>>
  readonly onCancel: () => void
}

function AccountForm({ create, onCancel }: AccountFormProps) {
  const { error } = create
  const refusal = refusalOf(error, ['name', 'email', 'fee_basis_points'], isOfTerms)
  const { terms, fields: termsFields } = useTerms(NO_TERMS)
  const [fee, setFee] = useState('')
  const feeBps = readPercent(fee)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (terms === null || feeBps === undefined) return
    const fields = new FormData(event.currentTarget)
    const name = String(fields.get('name')).trim()
    const email = String(fields.get('email')).trim()
    const named = { name, email: email === '' ? null : email }
    create.mutate({ ...named, fee_basis_points: feeBps, ...terms })
  }
  return (
    <form className="contents" onSubmit={send}>
      <Field
        label="Name"
        name="name"
        required
        maxLength={200}
        autoComplete="off"
        error={refusal.at('name')}
      />
      <Field
        label="Email"
        name="email"
        type="email"
        maxLength={320}
        autoComplete="off"
        hint="For contact only: it gives no access."
        error={refusal.at('email')}
      />
      <FeeField fee={fee} onChange={setFee} error={refusal.at('fee_basis_points')} />
      <TermsFields of="account" {...termsFields} error={error} />
      <FormEnd problem={refusal.rest} onCancel={onCancel} isDisabled={create.isPending}>
        Create account
      </FormEnd>
    </form>
  )
}
