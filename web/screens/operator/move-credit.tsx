import { useState } from 'react'
import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Account } from '../../api/answers.ts'
import { asOperator, type Input } from '../../api/calls.ts'
import { refusedWithoutCredit } from '../../format/debt.ts'
import { AMOUNT_FAULT, money, readMoney } from '../../format/money.ts'
import { dayOf, ownTimeZone } from '../../format/time.ts'
import { DollarField, Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useNow } from '../../parts/now.ts'
import { refusalOf } from '../../parts/refusal.ts'
import { Segments } from '../../parts/segments.tsx'
import { showToast } from '../../parts/toast.ts'
import { useOperatorWrite } from './use-operator-write.ts'

/** The change of credit: paid or free credit is added, or paid credit is removed. */
type CreditMove = 'backed' | 'free' | 'chargeback'

interface MoveCreditProps {
  readonly account: Account
  readonly first: CreditMove
  readonly onClose: () => void
}

const FREE_DAYS = 30

const DONE = {
  backed: 'of paid credit added',
  free: 'of free credit given',
  chargeback: 'of paid credit removed',
} as const

const VERBS = { backed: 'Add', free: 'Give', chargeback: 'Remove' } as const

const PURSES = [
  { value: 'backed', text: 'Paid' },
  { value: 'free', text: 'Free' },
] as const

/** Adds credit to an account or removes it, and says in figures what the account has after that. */
export function MoveCredit({ account, first, onClose }: MoveCreditProps) {
  const { move, setMove, amount, setAmount, day, setDay, send, submit } = useMove(
    { account, first },
    onClose,
  )
  const isTaken = move === 'chargeback'
  const verb = VERBS[move]
  const { amountMicros } = amount
  const refusal = refusalOf(send.error, ['amount', 'reference', 'expires_at'])
  const example = isTaken ? 'removal-1042' : 'invoice-1042'
  return (
    <FormDialog
      title={move === 'free' ? 'Give free credit' : `${verb} credit`}
      submit={`${verb} ${amountMicros === null ? '' : money(amountMicros)}`}
      isDangerous={isTaken}
      write={send}
      problem={refusal.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      {move !== 'chargeback' && (
        <Segments
          label="Kind of credit"
          className="justify-self-start"
          options={PURSES}
          value={move}
          onChange={setMove}
        />
      )}
      <DollarField
        label="Amount"
        name="amount"
        required
        value={amount.typed}
        onChange={(event) => setAmount(event.target.value)}
        error={amount.isWrong ? AMOUNT_FAULT : refusal.at('amount')}
      />
      {move === 'free' && <EndField day={day} onChange={setDay} error={refusal.at('expires_at')} />}
      <Field
        label="Reference"
        name="reference"
        required
        maxLength={TEXT_CHARS_MAX.reference}
        autoComplete="off"
        hint={`Your own ID for this credit, such as ${example}. A repeat with the same reference changes nothing.`}
        error={refusal.at('reference')}
      />
      <MovePreview account={account} move={move} amountMicros={amountMicros ?? 0} day={day} />
    </FormDialog>
  )
}

function useMove({ account, first }: Omit<MoveCreditProps, 'onClose'>, onClose: () => void) {
  const now = useNow()
  const [move, setMove] = useState<CreditMove>(first)
  const [typed, setAmount] = useState('')
  const [day, setDay] = useState(() => localDay(new Date(now.getTime() + FREE_DAYS * DAY_MS)))
  const read = readMoney(typed)
  const amountMicros = read !== null && read > 0 ? read : null
  const send = useOperatorWrite(
    (added: Input<'addCredit', 'operator'>) => asOperator('addCredit', added),
    (_, { amount: added, kind }) => {
      onClose()
      showToast(`${money(Math.abs(added))} ${DONE[added < 0 ? 'chargeback' : kind]}.`)
    },
  )
  const amount = { typed, amountMicros, isWrong: typed.trim() !== '' && amountMicros === null }
  const submit = (fields: FormData) => {
    if (amountMicros === null) return
    const reference = String(fields.get('reference')).trim()
    const signed = move === 'chargeback' ? -amountMicros : amountMicros
    const added = { account_id: account.id, amount: signed, reference }
    send.mutate(
      move === 'free'
        ? { ...added, kind: 'free', expires_at: new Date(`${day}T00:00`).toISOString() }
        : { ...added, kind: 'backed' },
    )
  }
  return { move, setMove, amount, setAmount, day, setDay, send, submit }
}

interface EndFieldProps {
  readonly day: string
  readonly onChange: (day: string) => void
  readonly error: string | null
}

function EndField({ day, onChange, error }: EndFieldProps) {
  return (
    <Field
      label="Expires on"
      name="expires_at"
      type="date"
      required
      min={localDay(new Date(useNow().getTime() + DAY_MS))}
      value={day}
      onChange={(event) => onChange(event.target.value)}
      hint={`At the start of this day in the time zone ${ownTimeZone()}. Unspent free credit is then lost.`}
      error={error}
    />
  )
}

interface MovePreviewProps {
  readonly account: Account
  readonly move: CreditMove
  readonly amountMicros: number
  readonly day: string
}

function MovePreview({ account, move, amountMicros, day }: MovePreviewProps) {
  const { name, credit } = account
  const { backed, free } = credit
  if (amountMicros === 0) {
    return (
      <p aria-live="polite">
        {move === 'free'
          ? `${name} has ${money(free.available)} of free credit.`
          : `${name} has a balance of ${money(backed.balance)}, and ${money(backed.available)} of it is available.`}
      </p>
    )
  }
  switch (move) {
    case 'backed':
      return (
        <p aria-live="polite">
          Balance: {money(backed.balance)} now, {money(backed.balance + amountMicros)} after this.
          Available: {money(backed.available)} now,{' '}
          <b>{money(Math.max(0, backed.balance + amountMicros - backed.held))}</b> after this.
        </p>
      )
    case 'free':
      return (
        <p aria-live="polite">
          Free credit: {money(free.available)} now, <b>{money(free.available + amountMicros)}</b>{' '}
          after this. All of it expires on{' '}
          {day === '' ? 'that day' : dayOf(laterOf(day, free.expires_at), new Date(0))}, and pays
          for open-weight text models only.
        </p>
      )
    default: {
      const left = backed.balance - amountMicros
      return (
        <p aria-live="polite">
          Balance: {money(backed.balance)} now, <b>{money(left)}</b> after this;{' '}
          {money(backed.held)} is held.{' '}
          {left <= backed.held
            ? `No paid credit is available then. ${refusedWithoutCredit(credit)}`
            : `Available: ${money(backed.available)} now, ${money(left - backed.held)} after this.`}
        </p>
      )
    }
  }
}

/** Free credit ends as a whole, at the later of two ends. */
function laterOf(day: string, ends: string | null): Date {
  return new Date(Math.max(Date.parse(`${day}T00:00`), ends === null ? 0 : Date.parse(ends)))
}

/** `2026-12-21`, in the time zone of the browser. */
function localDay(at: Date): string {
  const two = (part: number) => String(part).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}
