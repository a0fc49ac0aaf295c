import { type FormEvent, useState } from 'react'
import type { Account } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { counted, readPercent, typedPercent } from '../../format/numbers.ts'
import { changedTerms, NO_TERMS, type Terms } from '../../format/terms.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { FormEnd } from '../../parts/form-end.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { isOfTerms, TermsFields, useTerms } from '../../parts/terms-fields.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

interface AccountDialogProps {
  readonly account: Account
  readonly onClose: () => void
}

/** Suspends an account, or lets it go on, after saying what that does. */
export function SuspendAccount({
  account,
  keyCount,
  onClose,
}: AccountDialogProps & { readonly keyCount: number | null }) {
  const { id, name, disabled, credit } = account
  const [note, setNote] = useState('')
  const change = useOperatorWrite(
    (body: { readonly disabled: boolean; readonly note?: string }) =>
      write<Account>('PATCH', `operator/accounts/${id}`, body),
    onClose,
  )
  const refusal = refusalOf(change.error, ['note'])
  const suspension = note.trim() === '' ? {} : { note: note.trim() }
  const held = credit.backed.held + credit.free.held
  const keys = keyCount === null ? 'Its keys' : `Its ${counted(keyCount, 'key')}`
  return (
    <Confirm
      title={disabled ? `Resume ${name}?` : `Suspend ${name}?`}
      submit={disabled ? 'Resume account' : 'Suspend'}
      isDangerous={!disabled}
      error={refusal.rest === null ? null : change.error}
      isSending={change.isPending}
      onSubmit={() =>
        change.mutate(disabled ? { disabled: false } : { disabled: true, ...suspension })
      }
      onClose={onClose}
    >
      {disabled ? (
        <p>
          {keys} {keyCount === 1 ? 'is' : 'are'} accepted again at once. It has{' '}
          {money(credit.backed.available)} available.
        </p>
      ) : (
        <>
          <p>
            {keys} {keyCount === 1 ? 'is' : 'are'} refused at once. Running requests finish and are
            charged: {money(held)} is held for them. Its {money(credit.backed.balance)} stays. You
            can resume it at any time.
          </p>
          <Field
            label="Note for its members (optional)"
            autoComplete="off"
            error={refusal.at('note')}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </>
      )}
    </Confirm>
  )
}

/** Another name or email address, or other terms. */
export function RenameAccount({ account, onClose }: AccountDialogProps) {
  const change = useOperatorWrite(
    ({ name, email, fee_basis_points, ...terms }: AccountFields) =>
      write<Account>('PATCH', `operator/accounts/${account.id}`, {
        name,
        email,
        ...(fee_basis_points === account.fee_basis_points ? {} : { fee_basis_points }),
        ...changedTerms(account, terms),
      }),
    onClose,
  )
  return (
    <Dialog title="Change account" onClose={onClose}>
      <AccountForm before={account} submit="Save" change={change} onCancel={onClose} />
    </Dialog>
  )
}

interface CreateAccountProps {
  readonly onClose: () => void
  readonly onMade: (account: Account) => void
}

/** A new account, without credit. */
export function CreateAccount({ onClose, onMade }: CreateAccountProps) {
  const create = useOperatorWrite(
    (fields: AccountFields) => write<Account>('POST', 'operator/accounts', fields),
    onMade,
  )
  const before = { name: '', email: null, fee_basis_points: null, ...NO_TERMS }
  return (
    <Dialog title="Create account" onClose={onClose}>
      <AccountForm before={before} submit="Create account" change={create} onCancel={onClose} />
    </Dialog>
  )
}

type AccountFields = Pick<Account, 'name' | 'email' | 'fee_basis_points'> & Terms

interface AccountFormProps {
  readonly before: AccountFields
  readonly submit: string
  readonly change: ReturnType<typeof useOperatorWrite<AccountFields, Account>>
  readonly onCancel: () => void
}

function AccountForm({ before, submit, change, onCancel }: AccountFormProps) {
  const { error } = change
  const refusal = refusalOf(error, ['name', 'email', 'fee_basis_points'], isOfTerms)
  const { terms, fields: termsFields } = useTerms(before)
  const [fee, setFee] = useState(() => typedPercent(before.fee_basis_points))
  const feeBps = readPercent(fee)
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (terms === null || feeBps === undefined) return
    const fields = new FormData(event.currentTarget)
    const name = String(fields.get('name')).trim()
    const email = String(fields.get('email')).trim()
    const named = { name, email: email === '' ? null : email }
    change.mutate({ ...named, fee_basis_points: feeBps, ...terms })
  }
  return (
    <form className="contents" onSubmit={send}>
      <Field
        label="Name"
        name="name"
        defaultValue={before.name}
        required
        maxLength={200}
        autoComplete="off"
        error={refusal.at('name')}
      />
      <Field
        label="Email"
        name="email"
        type="email"
        defaultValue={before.email ?? ''}
        maxLength={320}
        autoComplete="off"
        hint="Of the person to write to. It lets no one in."
        error={refusal.at('email')}
      />
      <Field
        label="Platform fee in percent"
        name="fee_basis_points"
        className="num"
        inputMode="decimal"
        autoComplete="off"
        placeholder="That of the model"
        value={fee}
        onChange={(event) => setFee(event.target.value)}
        hint="Of the provider’s cost. Running requests keep their fee."
        error={
          feeBps === undefined
            ? 'A percentage from 0 to 100 with two places at most, or nothing.'
            : refusal.at('fee_basis_points')
        }
      />
      <TermsFields of="account" {...termsFields} error={error} />
      <FormEnd problem={refusal.rest} onCancel={onCancel} isDisabled={change.isPending}>
        {submit}
      </FormEnd>
    </form>
  )
}
