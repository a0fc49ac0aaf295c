import { useId, useState } from 'react'
import type { ApiKey } from '../api/answers.ts'
import { ApiError } from '../api/client.ts'
import { unmatchedPatterns } from '../format/model-lists.ts'
import { count } from '../format/numbers.ts'
import {
  hasTerms,
  LIMIT_NAMES,
  LIMITS,
  type LimitName,
  patternsOf,
  type ReadTerms,
  readTerms,
  type Terms,
  type TermsField,
  type TypedTerms,
  typedTerms,
} from '../format/terms.ts'
import { ownTimeZone } from '../format/time.ts'
import { Field } from './field.tsx'
import { belowField } from './refusal.ts'
import { useTyped } from './use-typed.ts'

interface TypedProps {
  readonly typed: TypedTerms
  readonly onType: ReturnType<typeof useTyped<TypedTerms>>['type']
  readonly faults: ReadTerms['faults']
  /** Whether some are set: then they are shown from the first moment. */
  readonly isOpen: boolean
}

/** Terms that are being changed: as they are read, null if they can't be, what {@link TermsFields} takes, and as {@link useTyped}. */
export function useTerms(before: Terms): {
  readonly terms: Terms | null
  readonly fields: TypedProps
} & Pick<ReturnType<typeof useTyped>, 'isChanged' | 'forget'> {
  const { texts: typed, type: onType, ...rest } = useTyped(typedTerms(before, ownTimeZone()))
  const { terms, faults } = readTerms(typed)
  return { terms, fields: { typed, onType, faults, isOpen: hasTerms(before) }, ...rest }
}

interface TermsFieldsProps extends TypedProps {
  /** The owner of the terms. */
  readonly of: 'key' | 'account'
  /** The gateway's limits of keys, which an empty field stands for. Default: not known. */
  readonly defaults?: ApiKey['default_limits'] | undefined
  /** The IDs of the models that are offered now: patterns that match none of them are named. Default: not known. */
  readonly offered?: readonly string[] | undefined
  /** The server's refusal; shown at its field, if it is one of these. */
  readonly error: Error | null
}

/** The models, the allowance and the limits of a key or an account, folded away until they are wanted. */
export function TermsFields({ isOpen, ...fields }: TermsFieldsProps) {
  // As it was in the beginning: it does not fold while its last word is deleted.
  const [wasOpen] = useState(isOpen)
  const isRefused = fields.error instanceof ApiError && fieldOf(fields.error.param) !== null
  return (
    <details className="fold" open={wasOpen || isRefused || fields.faults !== null}>
      <summary>Models, allowance and limits</summary>
      <TermsInputs {...fields} />
    </details>
  )
}

/** The fields of models, allowance and limits. */
export function TermsInputs(props: Omit<TermsFieldsProps, 'isOpen'>) {
  const { of, typed, onType, faults, error, defaults, offered } = props
  const zonesId = useId()
  const unset = (name: LimitName): string => {
    if (of === 'account' || name === 'tokens_per_minute') return 'No limit'
    return defaults === undefined ? 'Default' : `${count(defaults[name])} (default)`
  }
  const refused = error instanceof ApiError ? fieldOf(error.param) : null
  const input = (name: Exclude<TermsField, 'period'>) => ({
    name,
    autoComplete: 'off',
    value: typed[name],
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onType(name, event.target.value),
    error:
      faults?.[name] ?? (refused === name && error !== null ? belowField(error.message) : null),
  })
  const limit = (name: LimitName) => (
    <Field
      key={name}
      label={LIMITS[name].word}
      {...input(name)}
      className="num"
      inputMode="numeric"
      placeholder={unset(name)}
    />
  )
  return (
    <>
      <Field
        label="Allowed models"
        placeholder={of === 'key' ? 'All models of the account' : 'All'}
        {...input('allow')}
        hint={
          unmatchedHint(typed.allow, offered) ??
          'IDs, or author/* for all models of an author, separated by commas.'
        }
      />
      <Field
        label="Denied models"
        placeholder="None"
        {...input('deny')}
        hint={unmatchedHint(typed.deny, offered)}
      />
      <div className="pair">
        <Field
          label="Allowance"
          prefix="$"
          placeholder="None"
          {...input('amount')}
          className="num"
          inputMode="decimal"
          hint={
            of === 'key'
              ? 'The most that the key can spend in each period, in addition to its credit limit.'
              : 'The most that all keys of the account together can spend in each period.'
          }
        />
        <PeriodField typed={typed} onType={onType} />
      </div>
      <Field
        label="Time zone of the allowance"
        list={zonesId}
        {...input('timeZone')}
        hint="Periods begin at midnight in this time zone."
      />
      <datalist id={zonesId}>
        {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <div className="pair">{LIMIT_NAMES.slice(0, 2).map(limit)}</div>
      {LIMIT_NAMES.slice(2).map(limit)}
    </>
  )
}

/** Which typed patterns match no model; undefined: none. They may be for models that come later. By position: the typed list, and the model IDs. */
function unmatchedHint(typed: string, offered: readonly string[] | undefined): string | undefined {
  const unmatched = offered === undefined ? [] : unmatchedPatterns(patternsOf(typed), offered)
  return unmatched.length === 0
    ? undefined
    : `No model offered now matches ${unmatched.join(', ')}.`
}

function PeriodField({ typed, onType }: Pick<TypedProps, 'typed' | 'onType'>) {
  return (
    <label className="fld content-start">
      Resets every
      <select
        className="inp"
        value={typed.period}
        onChange={({ target: { value } }) => {
          if (value === 'day' || value === 'week' || value === 'month') {
            onType('period', value)
          }
        }}
      >
        <option value="day">Day</option>
        <option value="week">Week, on Monday</option>
        <option value="month">Month</option>
      </select>
    </label>
  )
}

const FIELDS: readonly (readonly [param: string, field: TermsField])[] = [
  ['models.allow', 'allow'],
  ['models.deny', 'deny'],
  ['models', 'allow'],
  ['allowance.time_zone', 'timeZone'],
  ['allowance', 'amount'],
  ...LIMIT_NAMES.map((name) => [`limits.${name}`, name] as const),
]

/** The field of a parameter, such as `models.allow.2`; null: none of these. */
function fieldOf(param: string | null): TermsField | null {
  if (param === null) return null
  const found = FIELDS.find(([name]) => param === name || param.startsWith(`${name}.`))
  return found?.[1] ?? null
}

/** Whether a parameter of the API is a field of terms. */
export function isTermsField(param: string): boolean {
  return fieldOf(param) !== null
}
