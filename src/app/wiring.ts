import type { Logger } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import type { WireFormat } from '../formats/format.ts'
import type { OperationSource } from '../operations/operations.ts'
import type { Passwords } from '../people/passwords.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { DIALECTS } from '../upstreams/dialects.ts'
import type { ConfiguredUpstreams } from '../upstreams/upstream-settings.ts'
import type { Clock } from '../vocabulary/clock.ts'
import type { IdSource } from '../vocabulary/ids.ts'
import type { Config } from './config.ts'

/** The inputs of every part of the wiring. */
export interface Wiring {
  readonly config: Config
  /** The formats that clients may speak. */
  readonly formats: readonly WireFormat[]
  /** The operations of callers, in addition to inference. */
  readonly operations: readonly OperationSource[]
  /** The dialects of providers, by name. */
  readonly dialects: typeof DIALECTS
  readonly configured: ConfiguredUpstreams
  readonly log: Logger
  readonly clock: Clock
  readonly ids: IdSource
  readonly passwords: Passwords
  /** Receives the events of all parts. */
  readonly telemetry: Telemetry
  /** Takes the closing of each part as it is opened. */
  readonly closing: AsyncDisposableStack
}

/** Opens a part that consists of many. If it rejects, the ones that are already open are closed. */
export async function openWhole<Opened>(
  open: (closing: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> {
  const closing = new AsyncDisposableStack()
  try {
    return await open(closing)
  } catch (error) {
    await closing.disposeAsync()
    throw error
  }
}

/** Starts a part, which stops when the process closes. By position: the wiring, and the part. */
export function running<Part extends { start(): void; stop(): Promise<void> }>(
  { closing }: Pick<Wiring, 'closing'>,
  part: Part,
): Part {
  closing.defer(() => part.stop())
  part.start()
  return part
}

/** Logs failures as warnings. By position: the log, and what failed, in words. */
export function warning(log: Logger, words: string): (cause: unknown) => void {
  return (cause) => log.warn({ cause: String(cause) }, words)
}

// A signal that is sent to all processes of a group can come twice. So does Ctrl-C below npm, from the terminal and from
// npm, which can be late on a busy machine.
const SAME_SIGNAL_MS = { alone: 200, belowNpm: 1_000 } as const

/** Resolves at the first signal to stop. A later one, except SIGHUP, ends the process at once. */
export function stopSignal({
  log,
  isBelowNpm,
}: {
  readonly log: Logger
  readonly isBelowNpm: boolean
}): Promise<void> {
  const sameMs = isBelowNpm ? SAME_SIGNAL_MS.belowNpm : SAME_SIGNAL_MS.alone
  let parentId = process.ppid
  return new Promise((resolve) => {
    let firstAtMs: number | null = null
    const onSignal = (signal: NodeJS.Signals): void => {
      // Below npm, bin/tollgate.js sends a SIGTERM when the parent has ended. After a first signal, it asks for nothing new.
      const isParentsEnd = isBelowNpm && signal === 'SIGTERM' && process.ppid !== parentId
      parentId = process.ppid
      if (firstAtMs === null) {
        firstAtMs = performance.now()
        log.info({ signal }, 'stopping: requests in flight can finish; a second signal ends them')
        resolve()
      } else if (signal !== 'SIGHUP' && !isParentsEnd && performance.now() - firstAtMs > sameMs) {
        log.warn(
          { signal },
          'stopped at once: the next start settles the requests that were cut off',
        )
        process.exit(1)
      }
    }
    // SIGHUP: the terminal was closed, or its connection was lost. It can come again later, from the shell and from the
    // system, and is never impatience.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, onSignal)
  })
}

/** The program's version, as its package has it. */
export const VERSION: string = manifest.version
