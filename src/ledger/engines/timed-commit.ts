import { StoreUnavailable } from '../../store/store-failure.ts'
import type { LedgerCommand, LedgerVerdict } from './commands.ts'

/** One commit of the ledger, as it went. */
export interface CommitReport {
  readonly commands: number
  readonly durationMs: number
  /** `refused`: the store answered, and a command of the batch could not be done. */
  readonly outcome: 'committed' | 'refused' | 'unavailable'
}

type Commit = (commands: readonly LedgerCommand[]) => Promise<readonly LedgerVerdict[]>

/** A commit that tells how each of its batches went. `onCommit` must not throw. */
export function timedCommit(commit: Commit, onCommit: (report: CommitReport) => void): Commit {
  return async (commands) => {
    const startedAtMs = performance.now()
    const tell = (outcome: CommitReport['outcome']): void =>
      onCommit({ commands: commands.length, durationMs: performance.now() - startedAtMs, outcome })
    try {
      const verdicts = await commit(commands)
      tell('committed')
      return verdicts
    } catch (error) {
      tell(error instanceof StoreUnavailable ? 'unavailable' : 'refused')
      throw error
    }
  }
}
