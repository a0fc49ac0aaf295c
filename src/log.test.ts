import { expect, test } from 'vitest'
import { openThreadLog } from './log.ts'

test("a thread's lines are handed over whole, in their order, with its number in each", () => {
  const posted: string[] = []
  const { log, flush } = openThreadLog({
    level: 'info',
    worker: 2,
    post: (lines) => posted.push(lines),
  })
  const LINES = 500
  for (let line = 0; line < LINES; line++) log.info({ line }, 'x'.repeat(100))
  log.debug('below the level')
  expect(posted.length).toBeGreaterThan(0)
  flush()
  flush()
  for (const lines of posted) expect(lines.endsWith('\n')).toBe(true)
  const lines = posted.join('').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(
    Array.from({ length: LINES }, (_, line) => ({ line, worker: 2 })),
  )
})
