import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { busiestThreadMs, threadTimes } from './thread-times.ts'

test('the threads of a process are there each for itself, with those of what it started', async () => {
  const before = threadTimes(process.pid)
  const thread = new Worker('setInterval(() => {}, 1000)', { eval: true })
  await once(thread, 'online')
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const after = threadTimes(process.pid)
  const added = [...after.keys()].filter((id) => !before.has(id))
  expect(added).toContain(String(child.pid))
  expect(added.length).toBeGreaterThan(1)
  child.kill()
  await thread.terminate()
})

test('a thread that was there before counts with what it did since', () => {
  const before = new Map([
    ['1', 500],
    ['2', 10],
  ])
  const after = new Map([
    ['1', 510],
    ['2', 40],
    ['3', 20],
  ])
  expect(busiestThreadMs({ before, after })).toBe(30)
})
