import { expect, test } from 'vitest'
import { RowsLocked, StoreRefused, StoreUnavailable } from '../../store/store-failure.ts'
import type { LedgerCommand } from '../commands.ts'
import { type CommitReport, timedCommit } from './batched-ledger.ts'

const COMMANDS: readonly LedgerCommand[] = [
  { kind: 'abandonInstance', input: 'I1' },
  { kind: 'abandonInstance', input: 'I2' },
]

async function reportsOf(commit: Parameters<typeof timedCommit>[0]): Promise<CommitReport[]> {
  const reports: CommitReport[] = []
  const timed = timedCommit(commit, (report) => reports.push(report))
  await Promise.allSettled([timed(COMMANDS, 'usual')])
  return reports
}

const AWAY = new StoreUnavailable('away')

test.each([
  ['committed', null, async () => ({ verdicts: COMMANDS.map(() => 0), hasWritten: true })],
  ['unwritten', null, async () => ({ verdicts: COMMANDS.map(() => 0), hasWritten: false })],
  ['unavailable', AWAY, () => Promise.reject(AWAY)],
  ['refused', null, () => Promise.reject(new StoreRefused('no such hold'))],
  // The store works: another session has these rows.
  ['refused', null, () => Promise.reject(new RowsLocked('locked'))],
] as const)(
  'a commit that is %s is reported once, with its commands and its time',
  async (outcome, failure, commit) => {
    const reports = await reportsOf(commit)
    expect(reports).toEqual([{ commands: 2, durationMs: expect.any(Number), outcome, failure }])
    expect(reports[0]?.durationMs).toBeGreaterThanOrEqual(0)
  },
)

test('the verdicts and the error of a commit are passed on unchanged', async () => {
  const verdicts = COMMANDS.map(() => 3)
  expect(
    await timedCommit(
      async () => ({ verdicts, hasWritten: true }),
      () => {},
    )(COMMANDS, 'usual'),
  ).toBe(verdicts)
  const failing = timedCommit(
    () => Promise.reject(AWAY),
    () => {},
  )
  await expect(failing(COMMANDS, 'usual')).rejects.toBe(AWAY)
})
