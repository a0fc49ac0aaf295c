import { describe, expect, test } from 'vitest'
import { FairQueue, type FairQueueInput, type QueueEntry, type QueuePlace } from './fair-queue.ts'

interface Timer {
  readonly delayMs: number
  readonly run: () => void
}

/** A queue, and its timers. */
function openQueue(input: Partial<FairQueueInput> = {}) {
  const timers = new Set<Timer>()
  const queue = new FairQueue({
    placesMax: 1,
    lanes: [{ waitingMax: 8 }],
    refusal: () => new Error('refused'),
    startTimer: (timer) => {
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    ...input,
  })
  return { queue, timers }
}

/** Takes a place that must be free. */
function takeNow(queue: FairQueue, owner = 'first'): QueuePlace {
  const place = queue.take({ owner })
  if (place instanceof Promise) throw new Error('there is no free place')
  return place
}

/** Lets entries named `<owner><number>` wait, and gives places to them until none waits: what became of each, in order. */
async function outcomes(
  queue: FairQueue,
  place: QueuePlace,
  entries: readonly (string | QueueEntry)[],
): Promise<readonly string[]> {
  const seen: string[] = []
  let current = place
  for (const entry of entries) {
    const named = typeof entry === 'string' ? entry : entry.owner
    const asked = typeof entry === 'string' ? { owner: entry.charAt(0) } : entry
    try {
      void Promise.resolve(queue.take(asked)).then(
        (taken) => {
          seen.push(named)
          current = taken
        },
        (error: Error) => seen.push(`${named} ${error.message}`),
      )
    } catch (error) {
      seen.push(`${named} ${error instanceof Error ? error.message : error}`)
    }
  }
  while (queue.waiting > 0) {
    current.leave()
    await new Promise(setImmediate)
  }
  return seen
}

describe('places', () => {
  test('are taken at once up to the limit, and after that one for each freed place', async () => {
    const { queue } = openQueue({ placesMax: 2 })
    const first = takeNow(queue)
    takeNow(queue)
    const third = queue.take({ owner: 'first' })
    expect(third).toBeInstanceOf(Promise)
    expect([queue.taken, queue.waiting]).toEqual([2, 1])
    first.leave()
    first.leave()
    const place = await third
    expect([queue.taken, queue.waiting]).toEqual([2, 0])
    place.leave()
    place.leave()
    expect([queue.taken, queue.waiting]).toEqual([1, 0])
  })

  test('go to owners in turns, and to the entries of each in order', async () => {
    const { queue } = openQueue()
    const entries = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']
    expect(await outcomes(queue, takeNow(queue), entries)).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'b2',
      'a3',
    ])
  })

  test('of one owner are bounded, while others take the free ones', async () => {
    const { queue } = openQueue({ placesMax: 3, placesOfOwnerMax: 1 })
    const first = takeNow(queue, 'a')
    const second = queue.take({ owner: 'a' })
    takeNow(queue, 'b')
    expect([queue.taken, queue.waiting]).toEqual([2, 1])
    first.leave()
    await second
    expect([queue.taken, queue.waiting]).toEqual([2, 0])
  })

  test('that are left go to the next owner that may take one', async () => {
    const { queue } = openQueue({ placesMax: 2, placesOfOwnerMax: 1 })
    takeNow(queue, 'a')
    const ofB = takeNow(queue, 'b')
    const waits = queue.take({ owner: 'a' })
    const next = queue.take({ owner: 'c' })
    ofB.leave()
    await next
    expect(queue.waiting).toBe(1)
    await expect(Promise.race([waits, Promise.resolve('waits')])).resolves.toBe('waits')
  })

  test('go to an earlier lane first', async () => {
    const { queue } = openQueue({ lanes: [{ waitingMax: 1 }, { waitingMax: 8 }] })
    const entries = [
      { owner: 'late', lane: 1 },
      { owner: 'late', lane: 1 },
      { owner: 'early', lane: 0 },
    ]
    expect(await outcomes(queue, takeNow(queue), entries)).toEqual(['early', 'late', 'late'])
  })

  test('go to the newest entry of an owner if the lane is set so', async () => {
    const { queue } = openQueue({ lanes: [{ waitingMax: 8, first: 'newest' }] })
    const entries = ['a1', 'a2', 'b1', 'a3']
    expect(await outcomes(queue, takeNow(queue), entries)).toEqual(['a3', 'b1', 'a2', 'a1'])
  })

  test('are left when the work has ended or failed', async () => {
    const { queue } = openQueue()
    await expect(queue.run({ owner: 'a' }, async () => queue.taken)).resolves.toBe(1)
    const failing = queue.run({ owner: 'a' }, () => Promise.reject(new Error('failed')))
    await expect(failing).rejects.toThrow('failed')
    expect(queue.taken).toBe(0)
  })
})

describe('entries that wait', () => {
  test('are bounded for one owner and for all, and a refused one takes no place', async () => {
    const { queue } = openQueue({ lanes: [{ waitingMax: 3, waitingOfOwnerMax: 2 }] })
    const entries = ['a1', 'a2', 'a3', 'b1', 'c1']
    expect(await outcomes(queue, takeNow(queue), entries)).toEqual([
      'a3 refused',
      'c1 refused',
      'a1',
      'b1',
      'a2',
    ])
  })

  test('of one lane leave the room of another one', async () => {
    const { queue } = openQueue({ lanes: [{ waitingMax: 1 }, { waitingMax: 1 }] })
    takeNow(queue)
    void queue.take({ owner: 'a', lane: 1 })
    expect(() => queue.take({ owner: 'b', lane: 1 })).toThrow('refused')
    expect(queue.take({ owner: 'b', lane: 0 })).toBeInstanceOf(Promise)
  })

  test('make room, starting with the oldest of the owner with the most, if the lane is set so', async () => {
    const { queue } = openQueue({
      lanes: [{ waitingMax: 3, first: 'newest', whenFull: 'oldestOfLargestLeaves' }],
    })
    const entries = ['b1', 'a1', 'a2', 'a3', 'c1']
    expect(await outcomes(queue, takeNow(queue), entries)).toEqual([
      'a1 refused',
      'a2 refused',
      'b1',
      'a3',
      'c1',
    ])
  })

  test('wait no longer than the limit, and take no place afterwards', async () => {
    const { queue, timers } = openQueue({ waitTimeoutMs: 1_000 })
    const place = takeNow(queue)
    const late = expect(queue.take({ owner: 'a' })).rejects.toThrow('refused')
    const [timer] = timers
    expect(timer?.delayMs).toBe(1_000)
    timer?.run()
    await late
    expect([queue.taken, queue.waiting]).toEqual([1, 0])
    place.leave()
    expect(queue.taken).toBe(0)
  })

  test('leave no timer, however the wait ends', async () => {
    const { queue, timers } = openQueue({ waitTimeoutMs: 1_000, lanes: [{ waitingMax: 1 }] })
    const place = takeNow(queue)
    const admitted = queue.take({ owner: 'a' })
    expect(() => queue.take({ owner: 'b' })).toThrow('refused')
    place.leave()
    await admitted
    expect(timers.size).toBe(0)
    const leaving = new AbortController()
    const left = expect(queue.take({ owner: 'a', signal: leaving.signal })).rejects.toThrow('gone')
    expect(timers.size).toBe(1)
    leaving.abort(new Error('gone'))
    await left
    expect(timers.size).toBe(0)
  })

  test('leave the queue when they are aborted, also before they wait, and others move up', async () => {
    const { queue } = openQueue()
    const place = takeNow(queue)
    const leaving = new AbortController()
    const left = expect(queue.take({ owner: 'a', signal: leaving.signal })).rejects.toThrow('gone')
    const next = queue.take({ owner: 'b' })
    leaving.abort(new Error('gone'))
    await left
    const gone = AbortSignal.abort(new Error('was gone'))
    await expect(queue.take({ owner: 'a', signal: gone })).rejects.toThrow('was gone')
    expect(queue.waiting).toBe(1)
    place.leave()
    await next
    expect([queue.taken, queue.waiting]).toEqual([1, 0])
  })

  test('keep nothing of an owner that has left', async () => {
    const { queue } = openQueue({ lanes: [{ waitingMax: 1, waitingOfOwnerMax: 1 }] })
    const place = takeNow(queue)
    for (let turn = 0; turn < 3; turn++) {
      const leaving = new AbortController()
      const left = expect(queue.take({ owner: 'a', signal: leaving.signal })).rejects.toThrow()
      leaving.abort(new Error('gone'))
      await left
    }
    expect(queue.waiting).toBe(0)
    place.leave()
    expect(queue.taken).toBe(0)
  })
})
