import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AttachedThread } from './attached-thread.ts'
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

describe('a thread that is attached', () => {
  let attached: AttachedThread<string, string>

  beforeEach(() => {
    attached = new AttachedThread()
  })

  test('sends jobs of its own beside the others, and each has its own answers', async () => {
    attached.attach(thread.attach().port)
    const answers = await Promise.all([attached.call('theirs'), thread.call('ours')])
    expect(answers).toEqual(['theirs answered', 'ours answered'])
    await expect(attached.call('refuse')).rejects.toBeInstanceOf(StoreRefused)
    await expect(attached.call('fail')).rejects.toBeInstanceOf(StoreUnavailable)
    attached.close()
  })

  test('is detached once all that it ever sent is done', async () => {
    const { port, detached } = thread.attach()
    for (let number = 0; number < 1_000; number++) port.postMessage({ number, job: 'last words' })
    port.close()
    await detached
    expect(await thread.call('jobs')).toBe('1000 jobs before')
  })

  test('fails what it waits for where the store thread dies, and goes on by another port', async () => {
    const { port, detached } = thread.attach()
    attached.attach(port)
    await attached.call('up')
    await expect(attached.call('die')).rejects.toBeInstanceOf(StoreUnavailable)
    await detached
    await expect(attached.call('away')).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(thread.call('first of the next')).rejects.toThrow('not open yet')
    attached.attach(thread.attach().port)
    expect(await attached.call('again')).toBe('again answered')
    attached.close()
  })
})
