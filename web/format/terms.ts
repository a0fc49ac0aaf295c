import type { ApiKey } from '../api/answers.ts'
import { AMOUNT_FAULT, readMoney, typedMoney } from './money.ts'

/** Over which time an allowance lasts. */
type Period = NonNullable<ApiKey['allowance']>['period']

/** A limit that is a number. */
export type LimitName = keyof ApiKey['limits']

/** The limits, in the order of their fields: their words, and what applies where one is not set. */
export const LIMITS: Readonly<
  Record<LimitName, { readonly word: string; readonly unset: 'default' | 'none' }>
> = {
  requests_per_minute: { word: 'Requests a minute', unset: 'default' },
  in_flight: { word: 'Requests in flight', unset: 'default' },
  tokens_per_minute: { word: 'Tokens a minute', unset: 'none' },
}

// The object has no other names, as its type says.
export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[]

function byLimit<Value>(make: (name: LimitName) => Value): Record<LimitName, Value> {
  // It has each name of the list.
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, make(name)])) as Record<
    LimitName,
    Value
  >
}

/** The models, allowance and limits of keys and accounts, as the API takes them; null: not set. */
export interface Terms {
  readonly models: { readonly allow: readonly string[]; readonly deny: readonly string[] } | null
  readonly allowance: Pick<
    NonNullable<ApiKey['allowance']>,
    'amount' | 'period' | 'time_zone'
  > | null
  /** Null: the default of the gateway. */
  readonly limits: Readonly<Record<LimitName, number | null>>
}

/** The part of changed terms that is sent: only the changed limits. */
export type ChangedTerms = Partial<Omit<Terms, 'limits'> & { limits: Partial<Terms['limits']> }>

/** Terms as a person types them. */
export interface TypedTerms extends Readonly<Record<LimitName, string>> {
  readonly allow: string
  readonly deny: string
  /** Dollars; empty: no allowance. */
  readonly amount: string
  readonly period: Period
  readonly timeZone: string
}

/** The fields of the form of terms. */
export type TermsField = keyof TypedTerms

/** The typed fields, parsed. A field with a fault has its message, and then there are no terms. */
export type ReadTerms =
  | { readonly terms: Terms; readonly faults: null }
  | { readonly terms: null; readonly faults: Readonly<Partial<Record<TermsField, string>>> }

/** No terms. */
export const NO_TERMS: Terms = {
  models: null,
  allowance: null,
  limits: byLimit(() => null),
}

/** Terms as a person changes them; `zone` is the time zone of a new allowance. */
export function typedTerms({ models, allowance, limits }: Terms, zone: string): TypedTerms {
  return {
    allow: models?.allow.join(', ') ?? '',
    deny: models?.deny.join(', ') ?? '',
    amount: allowance === null ? '' : typedMoney(allowance.amount),
    period: allowance?.period ?? 'month',
    timeZone: allowance?.time_zone ?? zone,
    ...byLimit((name) => String(limits[name] ?? '')),
  }
}

/** Whether any of it is set. */
export function hasTerms({ models, allowance, limits }: Terms): boolean {
  const isLimited = Object.values(limits).some((value) => value !== null)
  return models !== null || allowance !== null || isLimited
}

/** The models that may be used: "Only anthropic/*", "All but x-ai/*". */
export function modelsText(models: Terms['models']): string {
  if (models === null) return 'All'
  const { allow, deny } = models
  const only = allow.length === 0 ? 'All' : `Only ${listed(allow)}`
  return deny.length === 0 ? only : `${only} but ${allow.length === 0 ? '' : 'not '}${listed(deny)}`
}

const NAMED = 2

function listed(patterns: readonly string[]): string {
  const named = patterns.slice(0, NAMED).join(', ')
  const more = patterns.length - NAMED
  return `${named}${more > 0 ? ` and ${more} more` : ''}`
}

/** The patterns of models in a typed list. */
export function patternsOf(typed: string): readonly string[] {
  return typed.split(/[\s,]+/).filter(Boolean)
}

/** Reads what was typed. What only the server knows, such as the names of time zones, the server refuses. */
export function readTerms(typed: TypedTerms): ReadTerms {
  const faults: Partial<Record<TermsField, string>> = {}
  const list = (field: 'allow' | 'deny') => patternsOf(typed[field])
  const limits = byLimit((field): number | null => {
    const text = typed[field].replaceAll(',', '').trim()
    if (text === '') return null
    if (!/^[1-9]\d{0,14}$/.test(text))
      faults[field] = 'Enter a whole number from 1, or leave it empty.'
    return Number(text)
  })
  const models = { allow: list('allow'), deny: list('deny') }
  const amount = typed.amount.trim() === '' ? null : readMoney(typed.amount)
  if (amount === null && typed.amount.trim() !== '') {
    faults.amount = AMOUNT_FAULT
  }
  if (Object.keys(faults).length > 0) return { terms: null, faults }
  const { period, timeZone } = typed
  return {
    faults: null,
    terms: {
      models: models.allow.length + models.deny.length === 0 ? null : models,
      allowance: amount === null ? null : { amount, period, time_zone: timeZone.trim() || 'UTC' },
      limits,
    },
  }
}

/** The changed terms. Unchanged terms are not sent, because a member may not be allowed to set them. */
export function changedTerms(before: Terms, after: Terms): ChangedTerms {
  const { models, allowance } = after
  const was = { ...before.allowance }
  const isSameAllowance =
    was.amount === allowance?.amount &&
    was.period === allowance?.period &&
    was.time_zone === allowance?.time_zone
  const limits: Partial<Terms['limits']> = Object.fromEntries(
    Object.entries(after.limits).filter(
      ([name, value]) => Object.entries(before.limits).find(([it]) => it === name)?.[1] !== value,
    ),
  )
  return {
    ...(JSON.stringify(before.models) === JSON.stringify(models) ? {} : { models }),
    ...(isSameAllowance ? {} : { allowance }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  }
}
