import { useState } from 'react'
import type { Account } from '../../api/answers.ts'
import { write } from '../../api/client.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Field } from '../../parts/field.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { useOperatorWrite } from './use-operator-write.ts'

interface SuspendAccountProps {
  readonly account: Account
  /** Null: it is not known. */
  readonly keyCount: number | null
  readonly onClose: () => void
}

/** Suspends or resumes an account, after saying what that does. */
export function SuspendAccount({ account, keyCount, onClose }: SuspendAccountProps) {
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
