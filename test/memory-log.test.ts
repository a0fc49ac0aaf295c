import { expect, test } from 'vitest'
import { LOG_LIMITS } from './hang-limits.ts'
import { MemoryLog } from './memory-log.ts'

test('a text that is not logged fails with its name and the last lines, once the log is quiet or goes on for too long', async () => {
  const quiet = new MemoryLog({ ...LOG_LIMITS, quiet: () => AbortSignal.abort() })
  quiet.write(`${Array.from({ length: 30 }, (_, number) => `line ${number}`).join('\n')}\n`)
  await expect(quiet.logged('never')).rejects.toThrow(
    /no line has "never" in it.* 30 lines.*\n {2}line 20\n(.*\n)+ {2}line 29$/,
  )

  const whole = new AbortController()
  const long = new MemoryLog({ ...LOG_LIMITS, whole: () => whole.signal })
  const waiting = long.logged('never')
  long.write('one\n')
  whole.abort()
  await expect(waiting).rejects.toThrow('"never"')
})

test('a text is found in present lines, and in later ones of a log that goes on', async () => {
  const log = new MemoryLog()
  log.write('one\ntwo\n')
  expect(await log.logged('w')).toBe('two')
  const waiting = [log.logged('three'), log.logged('five')]
  log.write('three\nfour\n')
  log.write('five\n')
  expect(await Promise.all(waiting)).toEqual(['three', 'five'])
})
