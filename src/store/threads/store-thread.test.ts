import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StoreRefused, StoreUnavailable } from '../store-unavailable.ts'
import { AttachedThread } from './attached-thread.ts'
import { StoreThread } from './store-thread.ts'

const ENTRY = new URL('../testing/scripted-thread.ts', import.meta.url)

let thread: StoreThread<string, string>
/** How often a desk was closed. */
let closings: Int32Array

beforeEach(async () => {
  closings = new Int32Array(new SharedArrayBuffer(4))
  thread = new StoreThread({ entry: ENTRY, startWith: closings })
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

test('a thread that is closed does what it was asked, closes its desk and takes no more', async () => {
  const asked = [thread.call('one'), thread.call('two')]
  await thread.close()
  expect(await Promise.all(asked)).toEqual(['one answered', 'two answered'])
  expect(Atomics.load(closings, 0)).toBe(1)
  await expect(thread.call('later')).rejects.toBeInstanceOf(StoreUnavailable)
})

test('a thread that hangs is ended all the same, and fails what waits', async () => {
  const hanging = new StoreThread<string, string>({
    entry: ENTRY,
    startWith: closings,
    closeTimeoutMs: 50,
  })
  await expect(hanging.call('first')).rejects.toThrow('not open yet')
  const waiting = expect(hanging.call('hang')).rejects.toBeInstanceOf(StoreUnavailable)
  await hanging.close()
  await waiting
  await expect(hanging.call('later')).rejects.toBeInstanceOf(StoreUnavailable)
  expect(Atomics.load(closings, 0)).toBe(0)
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
