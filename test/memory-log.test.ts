import { expect, test } from 'vitest'
import { MemoryLog } from './memory-log.ts'

test('a text that is not logged fails with its name and the last lines, once the log is quiet or goes on for too long', async () => {
  const quiet = new MemoryLog({ quietMs: 1 })
  quiet.write(`${Array.from({ length: 30 }, (_, number) => `line ${number}`).join('\n')}\n`)
  await expect(quiet.logged('never')).rejects.toThrow(
    /no line has "never" in it.* 30 lines.*\n {2}line 20\n(.*\n)+ {2}line 29$/,
  )

  const long = new MemoryLog({ longestMs: 0 })
  const waiting = long.logged('never')
  long.write('one\n')
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
