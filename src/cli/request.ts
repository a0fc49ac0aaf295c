import { Command, Option } from 'commander'
import { getRequest, listRequests } from '../ledger/activity/activity.ts'
import { prunedUntilMs } from '../ledger/activity/prune-requests.ts'
import type { RequestRow } from '../ledger/rows.ts'
import { listAnswer } from '../operations/answers/list.ts'
import { chargeOf, requestAnswer } from '../operations/answers/request.ts'
import type { Store } from '../store/open-store.ts'
import { chargeForSaidCost, type Decimal } from '../vocabulary/money.ts'
import type { RequestState } from '../vocabulary/request-state.ts'
import { type CommandInput, withBooks } from './books.ts'
import { dollars, moment, readCost, readId, readRowLimit } from './read-values.ts'
import { table } from './table.ts'
import { CommandFailure } from './terminal.ts'

interface ListOptions {
  readonly limit: number
  readonly after?: string
  readonly account?: string
  readonly key?: string
  readonly state?: RequestState
  readonly model?: string
  readonly json?: true
}

const STATES: readonly RequestState[] = ['open', 'provisional', 'unresolved', 'final', 'released']

/** `tollgate request`: the activity of all accounts. */
export function requestCommand(input: CommandInput): Command {
  const command = new Command('request').description(
    'see requests, what they held and were charged; settle what is unsure',
  )
  command
    .command('list')
    .description('list requests, newest first')
    .option('--limit <rows>', 'how many at the most', readRowLimit, 20)
    .option('--after <request>', 'go on after this request id', readId('req'))
    .option('--account <account>', 'only this account, acct_…', readId('acct'))
    .option('--key <key>', 'only this API key, key_…', readId('key'))
    .addOption(new Option('--state <state>', 'only this state').choices(STATES))
    .option('--model <model>', 'only this model id')
    .option('--json', 'print JSON')
    .action((options: ListOptions) => list(input, options))
  command
    .command('show')
    .description('show all that is known of one request')
    .argument('<request>', 'its id, req_…: a response has it as x-request-id')
    .option('--json', 'print JSON')
    .action((id: string, options: { readonly json?: true }) => show(input, { id, options }))
  command
    .command('settle')
    .description('settle an unresolved or provisional request by what it cost the provider')
    .argument('<request>', 'its id, req_…')
    .argument('<dollars>', "the provider's cost; the charge is that and the fee", readCost)
    .option('--json', 'print JSON')
    .action((id: string, costUsd: Decimal, options: { readonly json?: true }) =>
      settle(input, { id, costUsd, options }),
    )
  return command
}

interface Settling {
  readonly id: string
  readonly costUsd: Decimal
  readonly options: { readonly json?: true }
}

function settle(input: CommandInput, { id, costUsd, options }: Settling): Promise<void> {
  const chargeMicros = chargeForSaidCost(costUsd)
  if (chargeMicros === null) throw new CommandFailure('the cost is beyond any real amount')
  return withBooks(input, async ({ store, ledger, terminal }) => {
    const correction = { kind: 'final', chargeMicros, costUsd } as const
    const corrected = await ledger.correct({ requestId: id, correction })
    const row = await getRequest(store.db, id)
    if (corrected.kind === 'unknownRequest' || row === null) throw await unknownRequest(store, id)
    if (corrected.kind === 'unchanged') {
      throw new CommandFailure(
        `the request is ${corrected.state}: only one that is unresolved or provisional can be settled`,
      )
    }
    terminal.out(
      options.json === true
        ? JSON.stringify(requestAnswer(row))
        : `settled: charged ${dollars(corrected.chargedMicros)}`,
    )
  })
}

function list(input: CommandInput, options: ListOptions): Promise<void> {
  return withBooks(input, async ({ store, terminal }) => {
    const { requests, nextCursor } = await listRequests(store.reports, {
      limit: options.limit,
      cursor: options.after ?? null,
      ...(options.account === undefined ? {} : { accountId: options.account }),
      ...(options.key === undefined ? {} : { apiKeyId: options.key }),
      ...(options.state === undefined ? {} : { state: options.state }),
      ...(options.model === undefined ? {} : { modelId: options.model }),
    })
    if (options.json === true) {
      terminal.out(JSON.stringify(listAnswer(requests.map(requestAnswer), nextCursor)))
      return
    }
    terminal.out(requests.length === 0 ? 'no requests like this yet' : requestTable(requests))
    if (nextCursor !== null) terminal.note(`more: --after ${nextCursor}`)
  })
}

function show(
  input: CommandInput,
  { id, options }: { readonly id: string; readonly options: { readonly json?: true } },
): Promise<void> {
  return withBooks(input, async ({ store, terminal }) => {
    const row = await getRequest(store.reports, id)
    if (row === null) throw await unknownRequest(store, id)
    const answer = requestAnswer(row)
    if (options.json === true) {
      terminal.out(JSON.stringify(answer))
      return
    }
    const { object: _, ...fields } = answer
    const lines = Object.entries(fields).map(([name, value]) => [name, shown(name, value)])
    terminal.out(table(['FIELD', 'VALUE'], lines))
  })
}

async function unknownRequest(store: Store, requestId: string): Promise<CommandFailure> {
  const untilMs = await prunedUntilMs(store.reports, requestId)
  const pruned = `, or it was pruned, as requests that were settled up to ${moment(untilMs)} have been`
  return new CommandFailure(
    `no request has the id ${requestId}: one that was refused has no record${untilMs === null ? '' : pruned}`,
  )
}

const MONEY_FIELDS = ['hold', 'held', 'charge', 'overrun']

function shown(name: string, value: unknown): string {
  if (value === null) return '-'
  if (typeof value === 'number' && MONEY_FIELDS.includes(name)) return dollars(value)
  if (name === 'provider_cost') return `$${String(value)}`
  if (typeof value !== 'object') return String(value)
  // Tokens by their kind, of those that there were.
  const counts = Object.entries(value).filter(([, count]) => count !== 0)
  return counts.length === 0 ? '-' : counts.map(([kind, count]) => `${kind} ${count}`).join(', ')
}

function requestTable(rows: readonly RequestRow[]): string {
  return table(
    ['REQUEST', 'OPENED', 'ENDPOINT', 'MODEL', 'STATUS', 'STATE', 'HELD', 'CHARGED'],
    rows.map((row) => [
      row.id,
      moment(row.openedAtMs),
      row.endpoint,
      row.modelId,
      row.httpStatus === null ? '-' : String(row.httpStatus),
      row.state,
      dollars(row.backedHeldMicros + row.freeHeldMicros),
      dollars(chargeOf(row)),
    ]),
  )
}
