import { searchRequests } from '../src/ledger/activity/search-requests.ts'
import type { Store } from '../src/store/store.ts'
import { readPeriods } from '../src/usage/read-periods.ts'
import { readUsage } from '../src/usage/read-usage.ts'
import { DAY_MS } from '../src/vocabulary/clock.ts'

/** The milliseconds that each kind of read can take, at five million requests. */
const MS_MAX = { chart: 150, list: 200, report: 300, longReport: 600 } as const

/** Something that a page reads. */
interface PageRead {
  readonly name: string
  readonly kind: keyof typeof MS_MAX
  readonly run: () => Promise<unknown>
}

interface PageReadsInput {
  /** The account with most requests. */
  readonly large: string
  readonly ordinary: string
  readonly modelId: string
}

/** The charts, reports and lists that pages show, each with the milliseconds that it can take. */
export function readsOfPage(
  store: Store,
  input: PageReadsInput,
): (PageRead & { readonly msMax: number })[] {
  return readsOf(store, input).map((read) => ({ ...read, msMax: MS_MAX[read.kind] }))
}

function readsOf(store: Store, { large, ordinary, modelId }: PageReadsInput): readonly PageRead[] {
  const toMs = Date.now()
  const report = (days: number) => () =>
    readPeriods(store.searches({ owner: 'bench' }), {
      accountId: null,
      apiKeyId: null,
      by: 'account',
      boundsMs: [toMs - days * DAY_MS, toMs],
    })
  const chart = (accountId: string | null, days: number, by: 'model' | 'key' | 'endpoint') => () =>
    readUsage(store.pages({ owner: 'bench' }), {
      accountId,
      fromMs: toMs - days * DAY_MS,
      toMs,
      by,
      step: days <= 2 ? 'hour' : 'day',
    })
  const list = (filter: Parameters<typeof searchRequests>[1]) => () =>
    searchRequests(store.pages({ owner: 'bench' }), filter)
  return [
    { name: 'large account, 1 d by model', kind: 'chart', run: chart(large, 1, 'model') },
    { name: 'large account, 1 d by key', kind: 'chart', run: chart(large, 1, 'key') },
    { name: 'large account, 30 d by model', kind: 'chart', run: chart(large, 30, 'model') },
    { name: 'large account, 30 d by key', kind: 'chart', run: chart(large, 30, 'key') },
    { name: 'large account, 90 d by model', kind: 'chart', run: chart(large, 90, 'model') },
    { name: 'large account, 90 d by key', kind: 'chart', run: chart(large, 90, 'key') },
    { name: 'ordinary account, 30 d by model', kind: 'chart', run: chart(ordinary, 30, 'model') },
    { name: 'all accounts, 30 d by model', kind: 'chart', run: chart(null, 30, 'model') },
    { name: 'all accounts, 90 d by endpoint', kind: 'chart', run: chart(null, 90, 'endpoint') },
    { name: 'report by account, 30 d', kind: 'report', run: report(30) },
    { name: 'report by account, 90 d', kind: 'longReport', run: report(90) },
    { name: 'first page of a list', kind: 'list', run: list({ accountId: large, limit: 50 }) },
    {
      name: 'page of a model',
      kind: 'list',
      run: list({ accountId: large, modelId, limit: 50 }),
    },
    {
      name: 'page of a model that no request had',
      kind: 'list',
      run: list({ accountId: large, modelId: 'sim/none', limit: 50 }),
    },
  ]
}

/** The fault of a chart of everything if its charge differs from that of the entries. */
export async function checkCharts(store: Store, accountId: string): Promise<readonly string[]> {
  const { totals } = await readUsage(store.pages({ owner: 'bench' }), {
    accountId,
    fromMs: Date.now() - 100 * DAY_MS,
    toMs: Date.now() + DAY_MS,
    by: null,
    step: 'day',
  })
  const { posted } = await store.reports
    .selectFrom('entries')
    .select(({ fn }) => fn.sum('amount_micros').as('posted'))
    .where('account_id', '=', accountId)
    .where('kind', 'in', ['charge', 'correction'])
    .executeTakeFirstOrThrow()
  const postedMicros = -Number(posted)
  if (totals.chargeMicros === postedMicros) return []
  return [`a chart has ${totals.chargeMicros} micro-dollars, entries have ${postedMicros}`]
}
