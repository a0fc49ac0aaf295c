import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, useId } from 'react'
import { LOW_BALANCE_MICROS_DEFAULT } from '../../../src/vocabulary/money.ts'
import { TEXT_CHARS_MAX } from '../../../src/vocabulary/text-chars.ts'
import type { Account } from '../../api/answers.ts'
import { asOperator, type Input } from '../../api/calls.ts'
import { oneAccountQuery } from '../../api/operator.ts'
import { readMetadata, typedMetadata } from '../../format/metadata.ts'
import { AMOUNT_FAULT, readMoney, typedMoney } from '../../format/money.ts'
import { readPercent, typedPercent } from '../../format/numbers.ts'
import { changedTerms } from '../../format/terms.ts'
import { DollarField, Field } from '../../parts/field.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { GreyForm } from '../../parts/states.tsx'
import { isTermsField, TermsInputs, useTerms } from '../../parts/terms-fields.tsx'
import { showToast } from '../../parts/toast.ts'
import { useTyped } from '../../parts/use-typed.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { FeeField } from './fee-field.tsx'
import { SettingsCard, SettingsCards } from './settings-card.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

/** The settings of an account, for operators, in one form that is saved by section. */
export function AccountSettings() {
  const { data: account } = useQuery(oneAccountQuery(useAccountId()))
  if (account === undefined) return <GreyForm />
  return (
    <SettingsCards>
      <Contact account={account} />
      <Money account={account} />
      <Terms account={account} />
      <Billing account={account} />
      <Metadata account={account} />
    </SettingsCards>
  )
}

/** A section that is saved. By position: the account, its title, and the fields that show their own refusals. */
function useSection({ id }: Account, title: string, ownFields: readonly string[]) {
  const queries = useQueryClient()
  const { mutate, error, isPending } = useOperatorWrite(
    (fields: Omit<Input<'changeAccount', 'operator'>, 'account_id'>) =>
      asOperator('changeAccount', { account_id: id, ...fields }),
    (account) => {
      queries.setQueryData(oneAccountQuery(id).queryKey, account)
      showToast(`${title} saved.`)
    },
  )
  const refusal = refusalOf(error, ownFields)
  return {
    change: mutate,
    error,
    refusal,
    card: { title, isSaving: isPending, problem: refusal.rest },
  }
}

/** A typed text as it is sent: null: none. */
function textOf(typed: string): string | null {
  return typed.trim() === '' ? null : typed.trim()
}

type Typing = ChangeEvent<HTMLInputElement>

function Contact({ account }: { readonly account: Account }) {
  const { change, refusal, card } = useSection(account, 'Account', ['name', 'email', 'external_id'])
  const { name, email, external_id } = account
  const { texts, isChanged, type, forget } = useTyped({
    name,
    email: email ?? '',
    external_id: external_id ?? '',
  })
  const field = (of: keyof typeof texts) => ({
    name: of,
    value: texts[of],
    onChange: ({ target }: Typing) => type(of, target.value),
    autoComplete: 'off',
    error: refusal.at(of),
  })
  const save = () => {
    const [toEmail, toExternalId] = [textOf(texts.email), textOf(texts.external_id)]
    const changed = {
      ...(texts.name.trim() === name ? {} : { name: texts.name.trim() }),
      ...(toEmail === email ? {} : { email: toEmail }),
      ...(toExternalId === external_id ? {} : { external_id: toExternalId }),
    }
    change(changed, { onSuccess: forget })
  }
  return (
    <SettingsCard
      {...card}
      note="The name, the contact, and the ID of the account in another system."
      isChanged={isChanged}
      onSave={save}
    >
      <Field label="Name" required maxLength={TEXT_CHARS_MAX.name} {...field('name')} />
      <Field
        label="Email"
        type="email"
        maxLength={TEXT_CHARS_MAX.email}
        hint="For contact only: it gives no access."
        {...field('email')}
      />
      <Field label="External ID" className="mono" {...field('external_id')} />
    </SettingsCard>
  )
}

function Money({ account }: { readonly account: Account }) {
  const { change, refusal, card } = useSection(account, 'Fee and alert', [
    'fee_basis_points',
    'low_balance',
  ])
  const { texts, isChanged, type, forget } = useTyped({
    fee: typedPercent(account.fee_basis_points),
    low: account.low_balance === null ? '' : typedMoney(account.low_balance),
  })
  const { fee, low } = texts
  const feeBps = readPercent(fee)
  const lowMicros = low.trim() === '' ? null : (readMoney(low) ?? undefined)
  return (
    <SettingsCard
      {...card}
      note="The fee on the provider cost, and when low credit is reported."
      isChanged={isChanged}
      onSave={() => {
        if (feeBps === undefined || lowMicros === undefined) return
        const changed = {
          ...(feeBps === account.fee_basis_points ? {} : { fee_basis_points: feeBps }),
          ...(lowMicros === account.low_balance ? {} : { low_balance: lowMicros }),
        }
        change(changed, { onSuccess: forget })
      }}
    >
      <FeeField
        fee={fee}
        onChange={(text) => type('fee', text)}
        error={refusal.at('fee_basis_points')}
      />
      <DollarField
        label="Low-credit alert"
        placeholder={typedMoney(LOW_BALANCE_MICROS_DEFAULT)}
        value={low}
        onChange={({ target }) => type('low', target.value)}
        hint="Webhooks report low credit when paid credit falls below this amount."
        error={lowMicros === undefined ? AMOUNT_FAULT : refusal.at('low_balance')}
      />
    </SettingsCard>
  )
}

function Terms({ account }: { readonly account: Account }) {
  const { change, error, card } = useSection(account, 'Models, allowance and limits', [])
  const { terms, fields, isChanged, forget } = useTerms(account)
  const { isOpen: _, ...typed } = fields
  return (
    <SettingsCard
      {...card}
      note="They apply to all keys of the account together."
      isChanged={isChanged}
      problem={refusalOf(error, [], isTermsField).rest}
      onSave={() => {
        if (terms !== null) change(changedTerms(account, terms), { onSuccess: forget })
      }}
    >
      <TermsInputs of="account" {...typed} error={error} />
    </SettingsCard>
  )
}

function Billing({ account }: { readonly account: Account }) {
  const { change, refusal, card } = useSection(account, 'Billing details', ['billing'])
  const { billing } = account
  const { texts, isChanged, type, forget } = useTyped({
    name: billing?.name ?? '',
    address: billing?.address ?? '',
    tax_id: billing?.tax_id ?? '',
  })
  const field = (name: keyof typeof texts) => ({
    name,
    value: texts[name],
    onChange: ({ target }: Typing) => type(name, target.value),
    autoComplete: 'off',
    error: null,
  })
  const save = () => {
    const { name, address, tax_id } = texts
    const sent = { name: textOf(name), address: textOf(address), tax_id: textOf(tax_id) }
    change({ billing: sent }, { onSuccess: forget })
  }
  return (
    <SettingsCard
      {...card}
      note="The buyer on receipts of purchases from now on. If empty, receipts have the name and email of the account."
      isChanged={isChanged}
      problem={refusal.at('billing') ?? refusal.rest}
      onSave={save}
    >
      <Field label="Billing name" maxLength={TEXT_CHARS_MAX.name} {...field('name')} />
      <Field label="Address" maxLength={TEXT_CHARS_MAX.buyerAddress} {...field('address')} />
      <Field label="Tax ID" maxLength={TEXT_CHARS_MAX.taxId} {...field('tax_id')} />
    </SettingsCard>
  )
}

function Metadata({ account }: { readonly account: Account }) {
  const id = useId()
  const { change, refusal, card } = useSection(account, 'Metadata', ['metadata'])
  const { texts, isChanged, type, forget } = useTyped({ notes: typedMetadata(account.metadata) })
  const metadata = readMetadata(texts.notes)
  const error =
    metadata === null ? 'Enter a name, a colon and a text on each line.' : refusal.at('metadata')
  return (
    <SettingsCard
      {...card}
      note="Your own notes. Members of the account can read them."
      isChanged={isChanged}
      onSave={() => {
        if (metadata !== null) change({ metadata }, { onSuccess: forget })
      }}
    >
      <div className="fld">
        <label htmlFor={id}>Notes</label>
        <textarea
          id={id}
          className="inp mono"
          rows={4}
          spellCheck={false}
          value={texts.notes}
          aria-invalid={error === null ? undefined : true}
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => type('notes', target.value)}
        />
        <small id={`${id}-hint`} className={error === null ? '' : 'err'}>
          {error ?? 'One per line, such as “plan: team”.'}
        </small>
      </div>
    </SettingsCard>
  )
}
