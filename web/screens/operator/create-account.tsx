import { useState } from 'react'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Account } from '../../api/answers.ts'
import { asOperator, type Input } from '../../api/calls.ts'
import { readPercent } from '../../format/numbers.ts'
import { NO_TERMS } from '../../format/terms.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { isTermsField, TermsFields, useTerms } from '../../parts/terms-fields.tsx'
import { FeeField } from './fee-field.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

interface CreateAccountProps {
  readonly onClose: () => void
  readonly onMade: (account: Account) => void
}

/** A new account, without credit. */
export function CreateAccount({ onClose, onMade }: CreateAccountProps) {
  const create = useOperatorWrite(
    (fields: Input<'createAccount', 'operator'>) => asOperator('createAccount', fields),
    onMade,
  )
  const { error } = create
  const refusal = refusalOf(error, ['name', 'email', 'fee_basis_points'], isTermsField)
  const { terms, fields: termsFields } = useTerms(NO_TERMS)
  const [fee, setFee] = useState('')
  const feeBps = readPercent(fee)
  const send = (fields: FormData) => {
    if (terms === null || feeBps === undefined) return
    const name = String(fields.get('name')).trim()
    const email = String(fields.get('email')).trim()
    const named = { name, email: email === '' ? null : email }
    create.mutate({ ...named, fee_basis_points: feeBps, ...terms })
  }
  return (
    <FormDialog
      title="Create account"
      submit="Create account"
      write={create}
      problem={refusal.rest}
      onSubmit={send}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="name"
        required
        maxLength={TEXT_CHARS_MAX.name}
        autoComplete="off"
        error={refusal.at('name')}
      />
      <Field
        label="Email"
        name="email"
        type="email"
        maxLength={TEXT_CHARS_MAX.email}
        autoComplete="off"
        hint="For contact only: it gives no access."
        error={refusal.at('email')}
      />
      <FeeField fee={fee} onChange={setFee} error={refusal.at('fee_basis_points')} />
      <TermsFields of="account" {...termsFields} error={error} />
    </FormDialog>
  )
}
