import type { LiveUpstreams } from '../cli/command-context.ts'
import { COMMANDS, tollgateProgram } from '../cli/program.ts'
import type { Terminal } from '../cli/terminal.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { loadDialect } from '../upstreams/dialects.ts'
import {
  type Config,
  catalogSettingsOf,
  configFromEnvironment,
  environment,
  isLive,
  keyLimitsOf,
  pageUrlOf,
  storeUrlOf,
  typedName,
} from './config.ts'
import { configuredUpstreams } from './configured-upstreams.ts'
import { mailSettingsOf } from './settings/mail-settings.ts'
import { publicNamesOf } from './settings/name-settings.ts'
import { outsideProvidersOf } from './settings/page-settings.ts'
import { saleSettingsOf } from './settings/sale-settings.ts'
import { VERSION } from './wiring.ts'

interface CommandLineInput {
  /** The arguments after the program's name. */
  readonly args: readonly string[]
  readonly terminal: Terminal
  /** The message of a failure that the command line does not know; null: it is a bug. */
  readonly explain: (error: unknown) => string | null
  /** Runs the gateway until a signal stops it. */
  readonly serve: () => Promise<void>
}

/** Runs the command that was typed, with the settings of the environment. Rejects as the command does. */
export async function runCommandLine({ args, ...input }: CommandLineInput): Promise<void> {
  const program = tollgateProgram({
    ...input,
    version: VERSION,
    operations: OPERATIONS,
    commands: COMMANDS,
    settings: () => {
      const config = configFromEnvironment()
      return {
        storeUrl: storeUrlOf(config),
        typedName: typedName(),
        keyTag: config.TOLLGATE_KEY_TAG,
        keyLimits: keyLimitsOf(config),
        pageUrl: pageUrlOf(config),
        serviceName: config.TOLLGATE_NAME,
        serverUrl: serverUrlOf(config),
        webhookNetworks: config.TOLLGATE_WEBHOOK_NETWORKS,
        sale: saleSettingsOf(config),
        mail: mailSettingsOf(config),
        outside: outsideProvidersOf(config),
        ...(isLive(config) ? { upstreams: liveUpstreams(config) } : {}),
      }
    },
  })
  await program.parseAsync(args, { from: 'user' })
}

function liveUpstreams(config: Config): LiveUpstreams {
  return {
    async load() {
      const configured = await configuredUpstreams(config, environment())
      if (configured === null) throw new TypeError('no upstream is configured')
      return configured
    },
    loadDialect,
    catalog: catalogSettingsOf(config),
    publicNames: publicNamesOf(config),
  }
}

/** The address of a running server on its own machine. */
function serverUrlOf({ HOST: host, PORT: port }: Pick<Config, 'HOST' | 'PORT'>): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
