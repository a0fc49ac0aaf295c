import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Account, Overview, Page } from '../../api/answers.ts'
import { asOperator } from '../../api/calls.ts'
import { momentsOf, overviewQuery } from '../../api/queries.ts'
import { refusedWithoutCredit } from '../../format/debt.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { countOf } from '../../parts/count.tsx'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { DEFAULT_RANGE } from '../../searches.ts'
import { useSpanOf } from '../../shell/use-span.ts'
import { useOperatorWrite } from './use-operator-write.ts'

interface SuspendAccountProps {
  readonly account: Account
  /** Undefined: they are not read yet. */
  readonly keys: Page<unknown> | undefined
  readonly onClose: () => void
}

/** Suspends or resumes an account, after saying what that does. */
export function SuspendAccount({ account, keys, onClose }: SuspendAccountProps) {
  const { id, name, credit } = account
  // As it was when a person opened this: a change elsewhere must not turn its button round.
  const [disabled] = useState(account.disabled)
  const [note, setNote] = useState('')
  const moments = momentsOf(useSpanOf()(DEFAULT_RANGE))
  const overview = useQuery({
    // As the Summary asks for it.
    ...overviewQuery(id, { moments, by: 'key', compare: 'before' }),
    enabled: !disabled,
  })
  const change = useOperatorWrite(
    (fields: { readonly disabled: boolean; readonly note?: string }) =>
      asOperator('changeAccount', { account_id: id, ...fields }),
    () => {
      onClose()
      showToast(disabled ? 'Account resumed.' : 'Account suspended.')
    },
  )
  const refusal = refusalOf(change.error, ['note'])
  const reason = note.trim() === '' ? {} : { note: note.trim() }
  return (
    <FormDialog
      title={disabled ? `Resume ${name}?` : `Suspend ${name}?`}
      submit={disabled ? 'Resume account' : 'Suspend'}
      isDangerous={!disabled}
      write={change}
      problem={refusal.rest}
      onSubmit={() => change.mutate({ disabled: !disabled, ...reason })}
      onClose={onClose}
    >
      {disabled ? (
        <p>
          {keysText(keys, 'accepted again at once')} The account{' '}
          {credit.backed.balance < 0
            ? `owes ${money(-credit.backed.balance)}. ${refusedWithoutCredit(credit)}`
            : `has ${money(credit.backed.available)} available.`}
        </p>
      ) : (
        <p>
          {keysText(keys, 'refused at once')} {runningText(overview.data?.credit.held_running)}{' '}
          {creditText(credit)} You can resume it at any time.
        </p>
      )}
      <Field
        label={disabled ? 'Reason (optional)' : 'Note for its members (optional)'}
        hint={disabled ? 'Only operators read it, in the audit log.' : undefined}
        autoComplete="off"
        maxLength={TEXT_CHARS_MAX.suspensionNote}
        error={refusal.at('note')}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
    </FormDialog>
  )
}

/** Says what happens to the keys of an account: "Its 6 keys are refused at once." By position: its newest keys, and what they are. */
function keysText(keys: Page<unknown> | undefined, state: string): string {
  if (keys === undefined) return `Its keys are ${state}.`
  if (keys.data.length === 0) return 'It has no keys.'
  return keys.data.length === 1 ? `Its key is ${state}.` : `Its ${countOf(keys)} keys are ${state}.`
}

/** Says how running requests end; undefined: their number is not known yet. */
function runningText(running: Overview['credit']['held_running'] | undefined): string {
  if (running === undefined) return 'Running requests finish and are charged.'
  const held = money(running.amount)
  switch (running.requests) {
    case 0:
      return 'No request is running.'
    case 1:
      return `1 running request finishes and is charged: ${held} is held for it.`
    default:
      return `${counted(running.requests, 'running request')} finish and are charged: ${held} is held for them.`
  }
}

function creditText({ backed: { balance } }: Account['credit']): string {
  return balance < 0
    ? `Its debt of ${money(-balance)} stays.`
    : `Its paid credit of ${money(balance)} stays.`
}
