import { Command } from 'commander'
import { type CommandInput, type CommandSettings, withStore } from '../command-context.ts'
import { addHelp } from '../help-text.ts'
import { counted, type FittingTable, sentenceTable } from '../table.ts'
import { CommandFailure } from '../terminal.ts'
import {
  checkPrices,
  checkSale,
  checkServer,
  checkUpstreams,
  checkWebhooks,
} from './connection-checks.ts'
import type { Finding } from './finding.ts'
import { checkStore } from './store-checks.ts'

export interface DoctorInput extends CommandInput {
  readonly version: string
  /** The message of a failure that a person can mend; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
}

/**
 * `tollgate doctor`: everything that a gateway needs, in the order in which one part needs the other. It is no operation:
 * it runs where settings are wrong, the store is away or no server runs.
 */
export function doctorCommand(input: DoctorInput): Command {
  const command = new Command('doctor')
    .description('check settings, server, store, upstreams, sale and webhooks, and say what to do')
    .option('--json', 'print JSON')
  return addHelp(command, {
    help: `It changes no data, and nothing is billed. Run it in the folder of the server,
as its user. Exits 0 if no check failed, 1 if one did; warnings alone do not
count.`,
    examples: ['tollgate doctor'],
  }).action(async (options: { readonly json?: true }) => {
    const findings = await findingsOf(input)
    const failed = findings.filter(({ state }) => state === 'failed').length
    const answer = { object: 'doctor', ok: failed === 0, checks: findings }
    const { terminal } = input
    terminal.out(
      options.json === true ? JSON.stringify(answer) : tableOf(findings)(terminal.columnsMax),
    )
    if (failed > 0) throw new CommandFailure(counted(failed, 'check'))
  })
}

function tableOf(findings: readonly Finding[]): FittingTable {
  const rows = findings.map(({ check, state, message }) => [state, check, message])
  return sentenceTable(['STATE', 'CHECK', 'RESULT'], rows)
}

async function findingsOf(input: DoctorInput): Promise<readonly Finding[]> {
  const found: Finding[] = [
    {
      check: 'version',
      state: 'ok',
      message: `tollgate ${input.version} on Node ${process.versions.node}`,
    },
  ]
  const settings = await usableSettings(input).catch((error: unknown) => messageOf(error, input))
  if (typeof settings === 'string') {
    return [...found, { check: 'settings', state: 'failed', message: settings }]
  }
  found.push({ check: 'settings', state: 'ok', message: 'can be used' })
  /** Adds the findings of a check; a check that throws has failed. By position: its name, and the check. */
  const add = async (check: string, run: () => Promise<readonly Finding[]>): Promise<void> => {
    try {
      found.push(...(await run()))
    } catch (error) {
      found.push({ check, state: 'failed', message: messageOf(error, input) })
    }
  }
  const { upstreams } = settings
  await add('server', () => checkServer(settings.serverUrl))
  await add('upstreams', () => checkUpstreams(upstreams))
  await add('store', () =>
    withStore(input, async (opened) => {
      await add('store', () => checkStore(opened))
      if (upstreams !== undefined) await add('prices', () => checkPrices(opened, upstreams))
      await add('sale', () => checkSale(input, opened))
      await add('webhooks', () => checkWebhooks(opened))
      return []
    }),
  )
  return found
}

/** The settings, if the upstreams in them can be used too. Throws `ConfigError`. */
async function usableSettings(input: DoctorInput): Promise<CommandSettings> {
  const settings = input.settings()
  await settings.upstreams?.load()
  return settings
}

/** One line. By position: the error, and its explanation. */
function messageOf(error: unknown, { explain }: DoctorInput): string {
  const known = error instanceof CommandFailure ? error.message : explain(error)
  const message = known ?? (error instanceof Error ? error.message : String(error))
  return message.replace(/:\n\s*-\s*/, ': ').replace(/\n\s*-?\s*/g, '; ')
}
