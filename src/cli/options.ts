import type { z } from 'zod'
import type { modelsShape } from '../operations/accounts/model-lists.ts'
import { formatDecimal, parseDecimal } from '../vocabulary/money.ts'
import { idArgument } from './ids.ts'
import { UsageFailure } from './terminal.ts'
import type { Taken } from './typed-input.ts'

/*
 * Options that several commands have, and how their values are read, in the units of an operation. The operation's schema
 * checks them.
 */

/** The option of one account. By position: the field it is sent in, such as `query.account`, and what it does. */
export function accountOption(to: Taken['to'], words = 'only this account'): Taken {
  return {
    ...idArgument('acct', '--account <account>', to),
    words: `${words}: its external ID, name, email address or ID`,
  }
}

/** The option that narrows a list to some of these states. */
export function stateOption(states: readonly string[]): Taken {
  return {
    flags: '--state <states>',
    words: `only these states, comma-separated: ${states.join(', ')}`,
    to: 'query.state',
  }
}

/** The option that prints the answer as CSV. */
export const CSV_OPTION: Taken = {
  flags: '--csv',
  words: 'print CSV',
  to: 'query.format',
  read: () => 'csv',
}

/** The option that sorts rows by one of these columns. */
export function sortOption(columns: readonly string[]): Taken {
  const listed = `${columns.slice(0, -1).join(', ')} or ${columns.at(-1)}`
  const largestFirst = `a - in front puts the largest first, such as -${columns.at(-1)}`
  return {
    flags: '--sort <column>',
    words: `${listed}; ${largestFirst}`,
    to: 'query.sort',
    read(text) {
      // The API, and earlier releases, call the spend charged.
      const column = text.replace(/^-/, '').replace(/^charged$/, 'spend')
      if (!columns.includes(column)) throw new UsageFailure(`must be ${listed}; ${largestFirst}`)
      return text.replace(/spend$/, 'charged')
    },
  }
}

/** Dollars such as `10`, `$0.50` or `-2.25` as micro-dollars. */
export function readDollars(text: string): number {
  const [, sign = '', amount = ''] = /^(-?)\$?(\d+(?:\.\d{1,6})?)$/.exec(text.trim()) ?? []
  // More than any schema takes, and not exact as a number of micro-dollars.
  if (Number(amount) >= 1e9) throw new UsageFailure('must be at most $100,000,000')
  const dollars = parseDecimal(amount)
  if (dollars === null) {
    throw new UsageFailure(
      'must be dollars such as 10 or 0.25: digits without commas, at most six after the point',
    )
  }
  const micros = Number(formatDecimal({ ...dollars, exponent: dollars.exponent + 6 }))
  return sign === '-' ? -micros : micros
}

/** Words such as `read,keys`. */
export function readWords(text: string): readonly string[] {
  return text.split(',').map((word) => word.trim())
}

type Reader = NonNullable<Taken['read']>

/** A value, or `none`, which removes it. */
export function orNone(read: Reader): Reader {
  return (text, ...present) => (text === 'none' ? null : read(text, ...present))
}

/** The options of the models that an account's keys, or a key, may use. */
export const MODEL_OPTIONS: readonly Taken[] = [
  {
    flags: '--models-allow <models>',
    words: 'the only models that can be used, such as "acme/sage-pro,nova/*"; none: all models',
    to: 'body.models.allow',
    read: orNone(readWords),
  },
  {
    flags: '--models-deny <models>',
    words: 'models that cannot be used, even if allowed; none removes the list',
    to: 'body.models.deny',
    read: orNone(readWords),
  },
]

/** The option of notes on an account or a key. */
export const METADATA_OPTION: Taken = {
  flags: '--metadata <key=value>',
  words: 'a note; repeat the option for more. A change replaces all notes; none removes them',
  to: 'body.metadata',
  readAll: readPairs,
}

/** Sets who the receipts of an account are for. */
export const BILLING_OPTION: Taken = {
  flags: '--billing <key=value>',
  words:
    'the buyer on its receipts: name=…, address=… or tax_id=…; repeat the option for more. A change replaces all three; none removes them',
  to: 'body.billing',
  readAll: readPairs,
}

function readPairs(texts: readonly string[]): Readonly<Record<string, string>> | null {
  if (texts.length === 1 && texts[0] === 'none') return null
  const pairs = texts.map((text): readonly [string, string] => {
    const [, memberName, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (memberName === undefined || value === undefined) {
      throw new UsageFailure('must be a key and a value, such as plan=gold, or none')
    }
    return [memberName, value]
  })
  const names = new Set(pairs.map(([memberName]) => memberName))
  if (names.size < pairs.length) throw new UsageFailure('has the same key twice')
  return Object.fromEntries(pairs)
}

/** The notes that {@link METADATA_OPTION} sets. */
export function metadataDetail({
  metadata,
}: {
  readonly metadata: Readonly<Record<string, string>>
}): string | null {
  const pairs = Object.entries(metadata).map(([memberName, value]) => `${memberName}=${value}`)
  return pairs.length === 0 ? null : pairs.join(', ')
}

/** The lists of models that {@link MODEL_OPTIONS} set. */
export const MODEL_DETAILS = {
  'models allowed': ({ models }: WithModels) => listed(models?.allow),
  'models denied': ({ models }: WithModels) => listed(models?.deny),
}

interface WithModels {
  readonly models: z.output<typeof modelsShape>
}

function listed(patterns: readonly string[] = []): string | null {
  return patterns.length === 0 ? null : patterns.join(', ')
}
