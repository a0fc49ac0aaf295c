import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Store } from '../../store/store.ts'
import { readUsageCells } from '../../usage/read-usage.ts'
import { DAY_MS, HOUR_MS } from '../../vocabulary/clock.ts'
import { monthStart } from '../../vocabulary/date-range.ts'
import type { ChartStep } from '../../vocabulary/usage-step.ts'
import { csvLine } from '../csv.ts'
import { timeAnswer } from '../fields.ts'
import { foundAccount } from '../not-found.ts'
import { operation } from '../operation.ts'
import type { OperationParts } from '../operation-parts.ts'
import {
  type ChartRange,
  type GroupNamesInput,
  groupIdAnswer,
  groupNames,
  stepsOf,
  usageQuery,
} from './usage.ts'
import { CUSTOMERS_FIGURES, figureCell, figuresAnswer, OPERATORS_FIGURES } from './usage-figures.ts'

const CSV_STEPS_AT_ONCE = 7

/** The usage of an account over time, as CSV. */
export function usageCsvOperations(parts: OperationParts) {
  return [download(parts)]
}

function download({ store, clock }: OperationParts) {
  return operation({
    name: 'downloadUsage',
    method: 'GET',
    paths: {
      member: '/app/api/accounts/{account_id}/usage.csv',
      operator: '/app/api/operator/accounts/{account_id}/usage.csv',
    },
    summary:
      'The usage of an account over time as CSV, a line for each step and group, in exact dollars; for operators with provider cost and margin.',
    query: usageQuery,
    answers: { 200: z.string() },
    problems: ['not_found'],
    async run({ reader, accountId, query, caller }) {
      const { by } = query
      await foundAccount(store.pages(reader), accountId)
      const rows = usageCsv(store.searches(reader), {
        accountId,
        by,
        columns: caller.kind === 'operator' ? OPERATORS_FIGURES : CUSTOMERS_FIGURES,
        ...stepsOf(query, clock.nowMs()),
      })
      return Readable.from(rows)
    },
  })
}

type UsageCsvInput = ChartRange &
  Omit<GroupNamesInput, 'ids'> & { readonly columns: typeof OPERATORS_FIGURES }

/** The first column of the CSV: its name, and the format of the start of a step. */
const CSV_STEPS: Readonly<
  Record<ChartStep, { readonly head: string; readonly write: (began: string) => string }>
> = {
  hour: { head: 'hour', write: (began) => began },
  day: { head: 'utc_day', write: (began) => began.slice(0, 10) },
  month: { head: 'utc_month', write: (began) => began.slice(0, 7) },
}

/** The end of the part that is read at once. It is the end of a step, so that no step has two lines. */
function csvPartEnd(atMs: number, step: ChartStep): number {
  if (step === 'month') return monthStart(atMs, 1)
  const stepMs = step === 'day' ? DAY_MS : HOUR_MS
  return (Math.floor(atMs / stepMs) + CSV_STEPS_AT_ONCE) * stepMs
}

/** A line for each step and group, some steps at a time. Each part is read when the one before was taken. */
async function* usageCsv(
  db: Store['db'],
  { accountId, by, columns, fromMs, toMs, step }: UsageCsvInput,
): AsyncGenerator<string> {
  const { head, write } = CSV_STEPS[step]
  yield csvLine([head, by, 'name', ...columns])
  for (let atMs = fromMs; atMs < toMs; ) {
    const endMs = Math.min(toMs, csvPartEnd(atMs, step))
    const part = { accountId, by, step, fromMs: atMs, toMs: endMs }
    atMs = endMs
    const cells = await readUsageCells(db, part)
    const ids = [...new Set(cells.map(({ id }) => id))]
    const names = await groupNames(db, { accountId, by, ids })
    const lines = cells.map(({ stepMs: beganMs, id, totals }) => {
      const figures = figuresAnswer(totals)
      return csvLine([
        write(timeAnswer(beganMs)),
        groupIdAnswer(id),
        names(id).name,
        ...columns.map((column) => figureCell(figures, column)),
      ])
    })
    if (lines.length > 0) yield lines.join('')
  }
}
