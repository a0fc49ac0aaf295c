import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreRefused, StoreUnavailable } from '../store-failure.ts'
import { StoreThread } from './store-thread.ts'

const ENTRY = new URL('../testing/scripted-thread.ts', import.meta.url)

let thread: StoreThread<string, string>
/** How often a job runner was closed. */
let closings: Int32Array

beforeEach(async () => {
  closings = new Int32Array(new SharedArrayBuffer(4))
  thread = new StoreThread({ entry: ENTRY, startWith: closings })
  // The script's store is not there at first, and opens at the second job.
  await expect(thread.call('first')).rejects.toThrow('not open yet')
})

afterEach(() => thread.close())

test('each job gets its own result', async () => {
  const jobs = ['one', 'two', 'three']
  expect(await Promise.all(jobs.map((job) => thread.call(job)))).toEqual(
    jobs.map((job) => `${job} answered`),
  )
})

test('a reply that has arrived is taken within the same turn of the event loop', async () => {
  let [answer, turns] = ['', 0]
  setImmediate(() => turns++)
  const answered = thread.call('one').then((result) => {
    answer = result
  })
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (let waitedMs = 0; answer === '' && waitedMs < 60_000; waitedMs++) {
    Atomics.wait(never, 0, 0, 1)
    thread.takeReplies()
    await Promise.resolve()
  }
  expect([answer, turns]).toEqual(['one answered', 0])
  await answered
})

test('a refused job and a store that failed are distinguished, and the next job runs', async () => {
  await expect(thread.call('refuse')).rejects.toBeInstanceOf(StoreRefused)
  await expect(thread.call('fail')).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await thread.call('next')).toBe('next answered')
})

test('a thread that dies fails its jobs, and the next job starts another', async () => {
  await thread.call('up')
  const waiting = ['die', 'lost'].map((job) => thread.call(job))
  for (const outcome of await Promise.allSettled(waiting)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreUnavailable' } })
  }
  await expect(thread.call('first of the next')).rejects.toThrow('not open yet')
  expect(await thread.call('again')).toBe('again answered')
})

test('a thread that is closed finishes its jobs, closes its runner and accepts no more', async () => {
  const asked = [thread.call('one'), thread.call('two')]
  await thread.close()
  expect(await Promise.all(asked)).toEqual(['one answered', 'two answered'])
  expect(Atomics.load(closings, 0)).toBe(1)
  await expect(thread.call('later')).rejects.toBeInstanceOf(StoreUnavailable)
})

test('a thread that stays begins the next connection as a new thread does', async () => {
  await thread.call('up')
  await thread.close()
  const ofNext = new Int32Array(new SharedArrayBuffer(4))
  const next = new StoreThread<string, string>({ entry: ENTRY, startWith: ofNext })
  await expect(next.call('first')).rejects.toThrow('not open yet')
  expect(await next.call('second')).toBe('second answered')
  await next.close()
  expect([closings, ofNext].map((counted) => Atomics.load(counted, 0))).toEqual([1, 1])
})

test('a thread that hangs is terminated, and its jobs fail', async () => {
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
