import { expect, test } from 'vitest'
import { ThreadShare } from './thread-share.ts'

/** A share whose clock only the test moves. */
function openShare() {
  let now = 0
  let timers: { readonly atMs: number; readonly run: () => void }[] = []
  const share = new ThreadShare({
    elapsedMs: () => now,
    startTimer({ delayMs, run }) {
      timers.push({ atMs: now + delayMs, run })
      return () => {}
    },
  })
  const begun: string[] = []
  /** Requests a turn that takes this long. */
  const ask = (owner: string, workMs: number): void => {
    void share.turn(owner).then((turn) => {
      begun.push(`${owner} at ${now}`)
      now += workMs
      turn.end()
      turn.end()
    })
  }
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  const runAll = async (): Promise<string[]> => {
    await settle()
    while (timers.length > 0) {
      const [next] = timers.toSorted((a, b) => a.atMs - b.atMs)
      timers = timers.filter((timer) => timer !== next)
      now = Math.max(now, next?.atMs ?? 0)
      next?.run()
      await settle()
    }
    return begun
  }
  /** Requests a turn in two parts of the same length. */
  const askTwice = (owner: string, workMs: number): void => {
    void share.turn(owner).then(async (turn) => {
      for (const part of ['first', 'second']) {
        begun.push(`${owner}, ${part}, at ${now}`)
        now += workMs
        if (part === 'first') await turn.rest()
      }
      turn.end()
    })
  }
  return { ask, askTwice, runAll }
}

test('a turn without a queue begins at once', async () => {
  const { ask, runAll } = openShare()
  ask('a', 100)
  expect(await runAll()).toEqual(['a at 0'])
  ask('a', 100)
  expect(await runAll()).toEqual(['a at 0', 'a at 400'])
})

test('after each turn the thread rests for three times as long as the turn took', async () => {
  const { ask, runAll } = openShare()
  ask('a', 100)
  ask('b', 10)
  ask('c', 1)
  expect(await runAll()).toEqual(['a at 0', 'b at 400', 'c at 440'])
})

test('an owner with many turns waits for all of its own, and another owner waits for only one of them', async () => {
  const { ask, runAll } = openShare()
  for (let turn = 0; turn < 4; turn++) ask('many', 100)
  ask('one', 100)
  ask('other', 100)
  expect(await runAll()).toEqual([
    'many at 0',
    'many at 400',
    'one at 800',
    'other at 1200',
    'many at 1600',
    'many at 2000',
  ])
})

test("between the parts of a turn another owner can have a turn, and the same owner can't", async () => {
  const { ask, askTwice, runAll } = openShare()
  askTwice('a', 100)
  ask('a', 100)
  ask('b', 100)
  expect(await runAll()).toEqual(['a, first, at 0', 'b at 400', 'a, second, at 800', 'a at 1200'])
})

test('the thread rests for at most a second, however long a turn seems to have taken', async () => {
  const { ask, runAll } = openShare()
  ask('a', 60_000)
  ask('b', 1)
  expect(await runAll()).toEqual(['a at 0', 'b at 61000'])
})
