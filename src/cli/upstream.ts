import { Command } from 'commander'
import { listShape } from '../operations/fields.ts'
import { upstreamShape } from '../operations/gateway/upstreams.ts'
import { formatDecimal, showDollars, showMicros } from '../vocabulary/money.ts'
import { Problem } from '../vocabulary/problem.ts'
import { type AskedUpstream, askAll } from './ask-upstreams.ts'
import type { CommandInput } from './command-context.ts'
import { failureText, upstreamAdvice } from './connection-advice.ts'
import { addHelp } from './help-text.ts'
import { type OperationCommand, operationCommand, show } from './operation-command.ts'
import { counted, fittingTable, moment } from './table.ts'
import { CommandFailure } from './terminal.ts'

const LIST: OperationCommand = {
  name: 'list',
  runs: 'listUpstreams',
  words: 'list the configured upstreams with their state, and the figures of the last 24 hours',
  takes: [],
  help: `"no models" means that an upstream has listed none for more than an hour, or
never: \`tollgate upstream check\` asks each upstream, and says why. Only a
running server knows of refused keys and of low credit: the page shows both.`,
  examples: ['tollgate upstream list'],
  show: show(listShape(upstreamShape), ({ data: upstreams }) => ({
    out:
      upstreams.length === 0
        ? 'The built-in simulator answers. For real models, set UPSTREAM_DIALECT and\nUPSTREAM_API_KEY in .env and restart tollgate: see docs/upstreams.md.'
        : fittingTable(
            [
              ...['UPSTREAM', 'DIALECT', 'STATE', 'MODELS', 'REQUESTS', 'FAILED'],
              ...['FIRST BYTE', 'COST', 'IN FLIGHT', 'LISTED', 'LAST FAILURE'],
            ],
            upstreams.map((row) => [
              row.name,
              row.dialect,
              row.state.replaceAll('_', ' '),
              row.models,
              row.requests,
              row.failed,
              row.first_byte_ms === null ? '-' : `${row.first_byte_ms} ms`,
              showMicros(row.cost),
              `${row.in_flight}${row.in_flight_max === null ? '' : ` of ${row.in_flight_max}`}`,
              moment(row.listed_at),
              row.last_failure === null
                ? '-'
                : `${row.last_failure.code}, ${moment(row.last_failure.at)}`,
            ]),
            {},
          ),
  })),
}

/** `tollgate upstream`: lists upstreams, and asks them whether they can be used, which needs no store. */
export function upstreamCommand(input: CommandInput): Command {
  const command = new Command('upstream').description(
    'list and check the upstreams of the settings',
  )
  command.addCommand(operationCommand(input, LIST))
  const checkCommand = command
    .command('check')
    .description(
      'check that each upstream can be reached and accepts its key, and which models it offers',
    )
    .argument('[name]', 'the name of one upstream; default: all')
    .option('--spend', 'also pay for one token of the cheapest model of each')
    .option('--json', 'print JSON')
    .action(
      (
        name: string | undefined,
        { spend = false, json }: { readonly spend?: boolean; readonly json?: true },
      ) => check(input, { only: name ?? null, spend, isJson: json === true }),
    )
  addHelp(checkCommand, {
    help: `NOT OFFERED counts models that the gateway leaves out, with the reason below;
SHADOWED counts models that an upstream before it also has. Exits 1 if one
cannot be used.`,
    examples: ['tollgate upstream check', 'tollgate upstream check openai --spend'],
  })
  return command
}

interface CheckInput {
  /** The upstream to show; null: all. */
  readonly only: string | null
  /** Whether a token of each that is shown is paid for. */
  readonly spend: boolean
  readonly isJson: boolean
}

/** By position: the command's inputs, and the upstreams to check. */
async function check(
  { settings, terminal }: CommandInput,
  { only, spend, isJson }: CheckInput,
): Promise<void> {
  const { upstreams: live } = settings()
  if (live === undefined) {
    throw new CommandFailure(
      'no upstream is configured, and the built-in simulator answers: set UPSTREAM_DIALECT and UPSTREAM_API_KEY, or TOLLGATE_UPSTREAMS for several',
    )
  }
  const rows = await askAll(live, (name) => spend && (only === null || name === only))
  const shown = rows.filter(({ settings: { name } }) => only === null || name === only)
  if (shown.length === 0) {
    const names = rows.map(({ settings: { name } }) => name).join(', ')
    const message = `No upstream has the name "${only}". The settings have: ${names}.`
    throw new Problem('not_found', { message })
  }
  if (isJson) terminal.out(JSON.stringify({ object: 'list', data: shown.map(checkedAnswer) }))
  else {
    const headings = ['UPSTREAM', 'DIALECT', 'ADDRESS', 'MODELS', 'NOT OFFERED', 'SHADOWED']
    terminal.out(fittingTable(headings, shown.map(cellsOf), {})(terminal.columnsMax))
    for (const row of shown) for (const line of remarksOn(row)) terminal.note(line)
  }
  const failed = shown.filter((row) => !canBeUsed(row)).length
  if (failed > 0) throw new CommandFailure(`${counted(failed, 'upstream')} cannot be used`)
}

function canBeUsed({ answer, spent }: AskedUpstream): boolean {
  return answer.kind === 'listed' && spent?.isOk !== false
}

function checkedAnswer(row: AskedUpstream) {
  const { settings, answer, leftUsd, shadowedIds, spent } = row
  const isListed = answer.kind === 'listed'
  return {
    object: 'upstream_check',
    name: settings.name,
    dialect: settings.dialect,
    base_url: settings.baseUrl,
    ok: canBeUsed(row),
    failure: isListed ? null : failureText(answer.cause),
    models: isListed ? answer.listed.models.length : null,
    not_offered: isListed
      ? answer.listed.skipped.map(({ modelId, why }) => ({ model: modelId, reason: why }))
      : [],
    shadowed: shadowedIds,
    key_left: leftUsd === null ? null : formatDecimal(leftUsd),
    spent: spent === null ? null : { ok: spent.isOk, message: spent.words },
  }
}

function cellsOf({ settings, answer, shadowedIds }: AskedUpstream): readonly (string | number)[] {
  const { name, dialect, baseUrl } = settings
  if (answer.kind === 'failed') return [name, dialect, baseUrl, '-', '-', '-']
  const { models, skipped } = answer.listed
  return [name, dialect, baseUrl, models.length, skipped.length, shadowedIds.length]
}

const SHOWN_MAX = 10

function* remarksOn(row: AskedUpstream): Generator<string> {
  const { settings, answer, shadowedIds } = row
  const { name } = settings
  if (answer.kind === 'failed') {
    yield `${name}: ${failureText(answer.cause)}${upstreamAdvice(settings, answer.cause)}`
    return
  }
  if (row.leftUsd !== null) yield `${name}: its key has ${showDollars(row.leftUsd)} left`
  if (row.spent !== null) yield `${name}: ${row.spent.words}`
  if (shadowedIds.length > 0) {
    yield `${name}: another upstream has ${someOf(shadowedIds)}`
  }
  const { skipped } = answer.listed
  for (const { modelId, why } of skipped) {
    yield `${name}: ${modelId ?? 'a row'} is not offered: ${why}`
  }
}

function someOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN_MAX ? ` and ${ids.length - SHOWN_MAX} more` : ''
  return ids.slice(0, SHOWN_MAX).join(', ') + more
}
