import { configFromEnvironment } from './app/config.ts'
import { ConfigError } from './app/settings/setting.ts'
import { startFailureOf } from './app/start-failure.ts'
import { processTerminal, runToExitCode } from './cli/terminal.ts'
import { StripeMissing } from './sale/card/stripe.ts'
import { ChainSettingsFault } from './sale/chain/terms.ts'
import { SchemaMismatch } from './store/migrate.ts'
import { UpstreamMismatch } from './store/settings.ts'
import { LogMissing } from './store/sqlite/beat-file.ts'
import { ServeLockHeld } from './store/sqlite/sqlite-connection.ts'

const terminal = processTerminal
const args = process.argv.slice(2)

// The server's parts are loaded only for it: other commands start in half the time without them.
const serve = async () => (await import('./app/serve.ts')).serve(terminal)

// A reader that has seen enough, such as `head`, is no failure. Neither that nor a full disk ends a server with
// requests in flight; of a command, results that are not whole must not look like success.
process.stderr.on('error', () => {})
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  terminal.note(`tollgate: the output could not be written whole: ${message}`)
  process.once('exit', () => {
    process.exitCode = 1
  })
})

process.exitCode = await runToExitCode({
  args,
  terminal,
  explain,
  async run() {
    // A server keeps what it loads: without the other commands it takes less memory and starts sooner.
    if (args.length === 1 && args[0] === 'serve') return serve()
    const { runCommandLine } = await import('./app/command-line.ts')
    return runCommandLine({ args, terminal, explain, serve })
  },
})

function explain(error: unknown): string | null {
  const known = isForUser(error) ? error : startFailureOf(error, configFromEnvironment())
  return known?.message ?? null
}

/** Failures whose message says what to do; any other is a bug, and its stack is worth having. */
function isForUser(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof SchemaMismatch ||
    error instanceof StripeMissing ||
    error instanceof ChainSettingsFault ||
    error instanceof ServeLockHeld ||
    error instanceof LogMissing ||
    error instanceof UpstreamMismatch
  )
}
