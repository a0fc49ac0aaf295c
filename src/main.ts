import {
  ConfigError,
  catalogSettingsOf,
  configFromEnvironment,
  pageUrlOf,
  storeUrlOf,
} from './app/config.ts'
import { saleSettingsOf } from './app/sale-settings.ts'
import { startFailureOf, WorkerFailure } from './app/start-failure.ts'
import { VERSION } from './app/wiring.ts'
import { COMMANDS, runCommandLine, tollgateProgram } from './cli/program.ts'
import { processTerminal } from './cli/terminal.ts'
import { OPERATIONS } from './operations/operations.ts'
import { StripeMissing } from './sale/card/stripe.ts'
import { SchemaMismatch } from './store/migrate.ts'
import { UpstreamMismatch } from './store/settings.ts'
import { ServeLockHeld } from './store/sqlite/sqlite-connection.ts'

const terminal = processTerminal

const program = tollgateProgram({
  version: VERSION,
  operations: OPERATIONS,
  commands: COMMANDS,
  settings: () => {
    const config = configFromEnvironment()
    const { UPSTREAM_BASE_URL: baseUrl, UPSTREAM_API_KEY: apiKey } = config
    return {
      storeUrl: storeUrlOf(config),
      keyTag: config.TOLLGATE_KEY_TAG,
      settleAfterMs: config.TOLLGATE_SETTLE_AFTER_MS,
      pageUrl: pageUrlOf(config),
      sale: saleSettingsOf(config),
      ...(baseUrl === null
        ? {}
        : {
            upstream: {
              baseUrl,
              apiKey: apiKey ?? '',
              connectTimeoutMs: config.TOLLGATE_CONNECT_TIMEOUT_MS,
              catalog: catalogSettingsOf(config),
              loadDialect: async () =>
                (await import('./upstreams/openrouter/openrouter.ts')).openrouter,
            },
          }),
    }
  },
  terminal,
  // The server's parts are loaded for it alone: other commands start in half the time without them.
  serve: async () => (await import('./app/serve.ts')).serve(terminal),
})

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(program, {
  args: process.argv.slice(2),
  terminal,
  explain: (error) => {
    const known = isForThePerson(error) ? error : startFailureOf(error, configFromEnvironment())
    return known?.message ?? null
  },
})

/** Failures whose message says what to do; any other is a bug, and its stack is worth having. */
function isForThePerson(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof SchemaMismatch ||
    error instanceof StripeMissing ||
    error instanceof ServeLockHeld ||
    error instanceof UpstreamMismatch ||
    error instanceof WorkerFailure
  )
}
