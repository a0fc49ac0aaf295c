import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreThread } from './store-thread.ts'
import { StoreRefused, StoreUnavailable } from './store-unavailable.ts'

let thread: StoreThread<string, string>

beforeEach(async () => {
  const entry = new URL('./testing/scripted-thread.ts', import.meta.url)
  thread = new StoreThread({ entry, startWith: null })
  // The script's store is not there at first, and opens at the second job.
  await expect(thread.call('first')).rejects.toThrow('not open yet')
})

afterEach(() => thread.close())

test('jobs are answered, each its own', async () => {
  const jobs = ['one', 'two', 'three']
  expect(await Promise.all(jobs.map((job) => thread.call(job)))).toEqual(
    jobs.map((job) => `${job} answered`),
  )
})

test('a refused job is told from a store that failed, and neither from the next job', async () => {
  await expect(thread.call('refuse')).rejects.toBeInstanceOf(StoreRefused)
  await expect(thread.call('fail')).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await thread.call('next')).toBe('next answered')
})

test('a thread that dies fails all that waits for it, and the next job starts another', async () => {
  await thread.call('up')
  const waiting = ['die', 'lost'].map((job) => thread.call(job))
  for (const outcome of await Promise.allSettled(waiting)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnavailable' } })
  }
  await expect(thread.call('first of the next')).rejects.toThrow('not open yet')
  expect(await thread.call('again')).toBe('again answered')
})

test('a thread that is closed fails what waits and takes no more', async () => {
  const waiting = expect(thread.call('hang')).rejects.toBeInstanceOf(StoreUnavailable)
  await thread.close()
  await waiting
  await expect(thread.call('later')).rejects.toBeInstanceOf(StoreUnavailable)
})
