import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import { currentTime } from '../../api/clock.ts'
import { accountQuery, keysQuery, modelsQuery } from '../../api/queries.ts'
import { AMOUNT_FAULT, money, readMoney, typedMoney } from '../../format/money.ts'
import type { Terms } from '../../format/terms.ts'
import { DollarField, Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { isTermsField, TermsFields, useTerms } from '../../parts/terms-fields.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { type Expiry, ExpiryField, expiryTime } from './expiry-field.tsx'

/** The fields in the form of a key. */
export interface KeyFields extends Terms {
  readonly name: string
  readonly credit_limit: number | null
  readonly expires_at: string | null
}

interface KeyFormProps {
  readonly title: string
  readonly before: KeyFields
  /** Its spend; null for a new key. */
  readonly spentMicros: number | null
  readonly submit: string
  /** Whether there is something to send in these fields. Default: there always is. */
  readonly isChange?: (fields: KeyFields) => boolean
  readonly write: { readonly error: Error | null; readonly isPending: boolean }
  readonly onSubmit: (fields: KeyFields) => void
  readonly onClose: () => void
}

/** Name, limit, expiry and terms of a key, with what the server refuses at its field. */
export function KeyForm(props: KeyFormProps) {
  const { before, write, onSubmit, isChange = () => true } = props
  const [name, setName] = useState(before.name)
  const [limit, setLimit] = useState(
    before.credit_limit === null ? '' : typedMoney(before.credit_limit),
  )
  const [expiry, setExpiry] = useState<Expiry>(
    before.expires_at === null
      ? { kind: 'never' }
      : { kind: 'date', at: new Date(before.expires_at) },
  )
  const { terms, fields } = useTerms(before)
  const { data: models } = useQuery(modelsQuery(useAccountId()))
  const { data: keys } = useQuery(keysQuery(useAccountId()))
  const limitMicros = limit.trim() === '' ? null : readMoney(limit)
  const isLimitWrong = limit.trim() !== '' && limitMicros === null
  const refusal = refusalOf(write.error, ['name', 'credit_limit', 'expires_at'], isTermsField)
  const read = (): KeyFields | null => {
    if (isLimitWrong || terms === null) return null
    const expires_at = expiryTime(expiry, currentTime())
    return { name: name.trim(), credit_limit: limitMicros, expires_at, ...terms }
  }
  const typed = read()
  return (
    <FormDialog
      title={props.title}
      submit={props.submit}
      write={write}
      problem={refusal.rest}
      isReady={typed === null || isChange(typed)}
      onSubmit={() => {
        const sent = read()
        if (sent !== null) onSubmit(sent)
      }}
      onClose={props.onClose}
    >
      <Field
        label="Name"
        name="name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={TEXT_CHARS_MAX.name}
        autoComplete="off"
        error={refusal.at('name')}
      />
      <DollarField
        label="Credit limit"
        name="credit_limit"
        value={limit}
        onChange={(event) => setLimit(event.target.value)}
        error={isLimitWrong ? AMOUNT_FAULT : refusal.at('credit_limit')}
        hint={<LimitHint spentMicros={props.spentMicros} />}
      />
      <ExpiryField value={expiry} onChange={setExpiry} error={refusal.at('expires_at')} />
      <TermsFields
        of="key"
        defaults={keys?.data[0]?.default_limits}
        {...fields}
        offered={models?.data.map(({ id }) => id)}
        error={write.error}
      />
    </FormDialog>
  )
}

function LimitHint({ spentMicros }: { spentMicros: number | null }) {
  const { data } = useQuery(accountQuery(useAccountId()))
  const spent = spentMicros === null ? '' : ` The key has spent ${money(spentMicros)} so far.`
  const has =
    data === undefined ? '' : ` The account has ${money(data.credit.backed.available)} available.`
  return `The most that the key can spend in total; empty means no limit.${spent}${has}`
}
