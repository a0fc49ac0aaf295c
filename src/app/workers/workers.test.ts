import { afterEach, expect, test } from 'vitest'
import type { Script } from './testing/scripted-worker.ts'
import { type EndedWorker, type WorkerLine, Workers } from './workers.ts'

const ENTRY = new URL('./testing/scripted-worker.ts', import.meta.url)
const NOTHING = () => undefined

let workers: Workers

afterEach(() => workers.stop())

/** Two workers, what was heard of them, and the script of each from the first start on. */
function open(scripts: readonly (readonly Script['serves'][])[], lookEveryMs = 60_000) {
  const left = scripts.map((ofOne) => [...ofOne])
  const lines = new Map<number, WorkerLine>()
  const served: number[] = []
  const ended: EndedWorker[] = []
  const cleared: number[] = []
  let seen = (): void => {}
  workers = new Workers({
    entry: ENTRY,
    count: scripts.length,
    prepare: (number) => ({
      startWith: { serves: left[number - 1]?.shift() ?? 'well' } satisfies Script,
      transfer: [],
      answers: {
        log: NOTHING,
        unsettled: NOTHING,
        swept: NOTHING,
        faults: NOTHING,
        refreshCatalog: () => ({ kind: 'failed', cause: null }),
        callersChanged: NOTHING,
        maintenanceTurned: NOTHING,
        metricsPage: () => '',
      },
      meet: (line) => void lines.set(number, line),
      clearUp: async () => void cleared.push(number),
    }),
    onServing: (number) => {
      served.push(number)
      seen()
    },
    onEnded: (news) => void ended.push(news),
    lookEveryMs,
  })
  /** Resolves once so many starts have come to serve. */
  const servedTimes = async (times: number): Promise<void> => {
    while (served.length < times) await new Promise<void>((resolve) => (seen = resolve))
  }
  return { lines, served, ended, cleared, servedTimes }
}

test('the first worker serves before the second starts, and all of them answer', async () => {
  const { served } = open([['well'], ['well']])
  await workers.start()
  expect([served, workers.allServe]).toEqual([[1, 2], true])
  expect(await workers.waitForAll('lookForForgotten', null)).toEqual([1, 1])
  expect(await workers.askAll('metrics', null)).toEqual(
    new Map([
      [1, []],
      [2, []],
    ]),
  )
})

test('a worker that crashes is cleared up after and replaced, later each time, and the others are left alone', async () => {
  const { lines, served, ended, cleared, servedTimes } = open([['well'], ['well', 'well', 'never']])
  await workers.start()
  lines.get(2)?.tell('forgetCallers', null)
  await servedTimes(3)
  lines.get(2)?.tell('forgetCallers', null)
  await servedTimes(4)
  expect(served).toEqual([1, 2, 2, 2])
  expect(cleared).toEqual([2, 2, 2])
  expect(ended.map(({ number, retryMs }) => [number, retryMs])).toEqual([
    [2, 100],
    [2, 200],
    [2, 400],
  ])
  expect(ended.map(({ cause }) => String(cause))).toEqual([
    'Error: it has crashed',
    'Error: it has crashed',
    'Error: it can not serve',
  ])
  expect(workers.allServe).toBe(true)
})

test('what waits for a worker that crashes is let go', async () => {
  const { lines } = open([['well']])
  await workers.start()
  const settled = workers.waitForAll('settled', null)
  lines.get(1)?.tell('forgetCallers', null)
  expect(await settled).toEqual([])
})

test('where a worker can not serve from the first, the start fails with its reason, and none is replaced', async () => {
  const { ended, cleared } = open([['well'], ['never']])
  await expect(workers.start()).rejects.toThrow('it can not serve')
  await workers.stop()
  expect([ended, cleared.toSorted()]).toEqual([[], [1, 2]])
})

test('workers that are stopped are cleared up after before it resolves, and none is replaced', async () => {
  const { ended, cleared } = open([['well'], ['well']])
  await workers.start()
  await workers.stop()
  expect([ended, cleared.toSorted(), workers.allServe]).toEqual([[], [1, 2], false])
})

test('a worker whose event loop stands still is ended and replaced, and the others are left alone', async () => {
  const { lines, served, ended, cleared, servedTimes } = open([['well'], ['well', 'well']], 50)
  await workers.start()
  lines.get(2)?.tell('askMaintenance', null)
  await servedTimes(3)
  expect([served, cleared]).toEqual([[1, 2, 2], [2]])
  expect(ended).toMatchObject([{ number: 2, cause: { code: 'WORKER_STANDS_STILL' } }])
})

test('workers stop although one of them stands still', async () => {
  const { lines, cleared } = open([['well'], ['well']], 50)
  await workers.start()
  lines.get(1)?.tell('askMaintenance', null)
  await workers.stop()
  expect(cleared.toSorted()).toEqual([1, 2])
})
