import {
  type Config,
  ConfigError,
  catalogSettingsOf,
  configFromEnvironment,
  environment,
  isLive,
  pageUrlOf,
  storeUrlOf,
} from './app/config.ts'
import { configuredUpstreams } from './app/configured-upstreams.ts'
import { mailSettingsOf } from './app/mail-settings.ts'
import { publicNamesOf } from './app/name-settings.ts'
import { saleSettingsOf } from './app/sale-settings.ts'
import { startFailureOf } from './app/start-failure.ts'
import { VERSION } from './app/wiring.ts'
import type { LiveUpstreams } from './cli/command-context.ts'
import { COMMANDS, runCommandLine, tollgateProgram } from './cli/program.ts'
import { processTerminal } from './cli/terminal.ts'
import { OPERATIONS } from './operations/operations.ts'
import { StripeMissing } from './sale/card/stripe.ts'
import { ChainSettingsFault } from './sale/chain/terms.ts'
import { SchemaMismatch } from './store/migrate.ts'
import { UpstreamMismatch } from './store/settings.ts'
import { ServeLockHeld } from './store/sqlite/sqlite-connection.ts'
import { loadDialect } from './upstreams/dialects.ts'

const terminal = processTerminal

const program = tollgateProgram({
  version: VERSION,
  operations: OPERATIONS,
  commands: COMMANDS,
  settings: () => {
    const config = configFromEnvironment()
    return {
      storeUrl: storeUrlOf(config),
      keyTag: config.TOLLGATE_KEY_TAG,
      pageUrl: pageUrlOf(config),
      serverUrl: serverUrlOf(config),
      webhookNetworks: config.TOLLGATE_WEBHOOK_NETWORKS,
      sale: saleSettingsOf(config),
      mail: mailSettingsOf(config),
      ...(isLive(config) ? { upstreams: liveUpstreams(config) } : {}),
    }
  },
  terminal,
  explain,
  // The server's parts are loaded for it alone: other commands start in half the time without them.
  serve: async () => (await import('./app/serve.ts')).serve(terminal),
})

// A reader that has seen enough, such as `head`, is no failure, and ends no server with requests in flight.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

process.exitCode = await runCommandLine(program, {
  args: process.argv.slice(2),
  terminal,
  explain,
})

function explain(error: unknown): string | null {
  const known = isForThePerson(error) ? error : startFailureOf(error, configFromEnvironment())
  return known?.message ?? null
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

/** Failures whose message says what to do; any other is a bug, and its stack is worth having. */
function isForThePerson(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof SchemaMismatch ||
    error instanceof StripeMissing ||
    error instanceof ChainSettingsFault ||
    error instanceof ServeLockHeld ||
    error instanceof UpstreamMismatch
  )
}

/** Where a running server is reached from its own machine. */
function serverUrlOf({ HOST: host, PORT: port }: Pick<Config, 'HOST' | 'PORT'>): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
