import { expect, test } from 'vitest'
import { GroupCommit } from './group-commit.ts'
import { NotSent, RowsLocked, StoreRefused, StoreUnavailable } from './store-failure.ts'

/** A store that commits on demand, and records the commands of each commit. */
function createScriptedStore(refuse: (command: number) => boolean = () => false) {
  const batches: (readonly number[])[] = []
  const pending: (() => void)[] = []
  let arrived = Promise.withResolvers<void>()
  return {
    batches,
    async commit(commands: readonly number[]): Promise<readonly string[]> {
      batches.push(commands)
      const { promise, resolve } = Promise.withResolvers<void>()
      pending.push(resolve)
      arrived.resolve()
      await promise
      if (commands.some(refuse)) throw new StoreRefused('refused')
      return commands.map((command) => `committed ${command}`)
    },
    /** Lets the next commit finish, once it has begun. */
    async finishNext(): Promise<void> {
      while (pending.length === 0) await arrived.promise
      arrived = Promise.withResolvers<void>()
      pending.shift()?.()
    },
  }
}

/** Resolves once the event loop has handled all that it had read. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const rank = (command: number): number => command % 2
const settings = {
  rank,
  isAlone: () => false,
  isAwaited: () => false,
  ownerOf: () => null,
  elapsedMs: () => 0,
  batchCommandsMax: 10,
  idleDelayMs: 1,
  apartMs: () => 0,
  delay: () => Promise.reject(new Error('nothing is to wait')),
}

test('commands that arrive during a commit are the next one, lower ranks first, in order within a rank', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit })
  const first = commits.submit(1)
  await turn()
  const later = [3, 2, 5, 4].map((command) => commits.submit(command))
  await store.finishNext()
  expect(await first).toBe('committed 1')
  await store.finishNext()
  expect(await Promise.all(later)).toEqual([3, 2, 5, 4].map((command) => `committed ${command}`))
  expect(store.batches).toEqual([[1], [2, 4, 3, 5]])
})

test('a store that fails refuses waiting commands of clients, and keeps the others', async () => {
  const failed = new StoreUnavailable('the disk is gone')
  const batches: (readonly number[])[] = []
  const commits = new GroupCommit({
    ...settings,
    isAwaited: (command: number) => command % 2 === 0,
    async commit(commands: readonly number[]) {
      batches.push(commands)
      if (batches.length === 1) {
        await turn()
        throw failed
      }
      return commands.map((command) => `committed ${command}`)
    },
  })
  const first = expect(commits.submit(1)).rejects.toBe(failed)
  await turn()
  const open = expect(commits.submit(2)).rejects.toEqual(new NotSent('the disk is gone'))
  const settle = commits.submit(3)
  await first
  await open
  expect(await settle).toBe('committed 3')
  expect(batches).toEqual([[1], [3]])
})

test('commands of the same event share a commit', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit })
  const answers = Promise.all([commits.submit(2), commits.submit(4)])
  await store.finishNext()
  expect(await answers).toEqual(['committed 2', 'committed 4'])
  expect(store.batches).toEqual([[2, 4]])
})

test('commands that each turn of the event loop brings share a commit, for two milliseconds', async () => {
  const store = createScriptedStore()
  let nowMs = 0
  const commits = new GroupCommit({ ...settings, commit: store.commit, elapsedMs: () => nowMs })
  const taken: Promise<string>[] = []
  for (const command of [2, 4, 6, 8]) {
    // It comes before the turn that the commit waits for.
    const next = turn()
    if (command === 8) nowMs = 2
    taken.push(commits.submit(command))
    await next
  }
  taken.push(commits.submit(10))
  await store.finishNext()
  await store.finishNext()
  await Promise.all(taken)
  expect(store.batches).toEqual([[2, 4, 6, 8], [10]])
})

test('a batch has a bound, and contains the earliest commands', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit, batchCommandsMax: 2 })
  const answers = Promise.all([1, 3, 2, 4, 6].map((command) => commits.submit(command)))
  for (let batch = 0; batch < 3; batch++) await store.finishNext()
  await answers
  expect(store.batches).toEqual([[1, 3], [2, 4], [6]])
})

test('a command that shares no commit has its own, in its turn', async () => {
  const store = createScriptedStore()
  const isAlone = (command: number): boolean => command > 100
  const commits = new GroupCommit({ ...settings, commit: store.commit, isAlone })
  const answers = Promise.all([101, 3, 2, 102, 103, 5].map((command) => commits.submit(command)))
  for (let batch = 0; batch < 5; batch++) await store.finishNext()
  await answers
  expect(store.batches).toEqual([[101], [2, 3], [102], [103], [5]])
})

test('commits keep their distance, and share the commands in between', async () => {
  const store = createScriptedStore()
  const pauses: PromiseWithResolvers<void>[] = []
  const delay = (delayMs: number): Promise<void> => {
    expect(delayMs).toBe(7)
    const pause = Promise.withResolvers<void>()
    pauses.push(pause)
    return pause.promise
  }
  const commits = new GroupCommit({ ...settings, commit: store.commit, apartMs: () => 7, delay })
  const first = commits.submit(2)
  await store.finishNext()
  await first
  const second = commits.submit(4)
  await turn()
  const third = commits.submit(6)
  expect(store.batches).toEqual([[2]])
  pauses[0]?.resolve()
  await store.finishNext()
  expect(await Promise.all([second, third])).toEqual(['committed 4', 'committed 6'])
  expect(store.batches).toEqual([[2], [4, 6]])
  expect(pauses).toHaveLength(2)
})

test('a command that a client waits for ends the pause between commits, and includes waiting commands', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({
    ...settings,
    commit: store.commit,
    isAwaited: (command: number) => command % 2 === 1,
    apartMs: () => 7,
    // A pause without an end.
    delay: () => new Promise(() => {}),
  })
  const first = commits.submit(2)
  await store.finishNext()
  await first
  const waiting = commits.submit(4)
  await turn()
  expect(store.batches).toEqual([[2]])
  const hurried = commits.submit(1)
  await store.finishNext()
  expect(await Promise.all([waiting, hurried])).toEqual(['committed 4', 'committed 1'])
  const behind = commits.submit(3)
  await store.finishNext()
  expect(await behind).toBe('committed 3')
  expect(store.batches).toEqual([[2], [4, 1], [3]])
})

test('an idle command starts no commit while others do', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit, idleDelayMs: 60_000 })
  const idle = commits.submitIdly(1)
  await turn()
  expect(store.batches).toEqual([])
  const answers = Promise.all([idle, commits.submit(3)])
  await store.finishNext()
  expect(await answers).toEqual(['committed 1', 'committed 3'])
  expect(store.batches).toEqual([[1, 3]])
})

test('an idle command is committed alone after a pause', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit })
  const answers = Promise.all([commits.submitIdly(1), commits.submitIdly(2)])
  await store.finishNext()
  expect(await answers).toEqual(['committed 1', 'committed 2'])
  expect(store.batches).toEqual([[2, 1]])
})

test('a refused command fails alone: its batch is replayed one by one', async () => {
  const store = createScriptedStore((command) => command === 4)
  const commits = new GroupCommit({ ...settings, commit: store.commit })
  const answers = Promise.allSettled([2, 4, 6].map((command) => commits.submit(command)))
  for (let batch = 0; batch < 4; batch++) await store.finishNext()
  expect(await answers).toMatchObject([
    { value: 'committed 2' },
    { reason: new StoreRefused('refused') },
    { value: 'committed 6' },
  ])
  expect(store.batches).toEqual([[2, 4, 6], [2], [4], [6]])
})

test('a store that fails fails its batch without a replay, and the next batch is tried', async () => {
  let up = false
  const commits = new GroupCommit<number, number>({
    ...settings,
    commit: async (commands) => {
      if (!up) throw new StoreUnavailable('down')
      return commands
    },
  })
  const answers = await Promise.allSettled([commits.submit(1), commits.submit(2)])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  up = true
  expect(await commits.submit(3)).toBe(3)
})

test('closing answers all accepted commands and accepts no more', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit, batchCommandsMax: 1 })
  const answers = [1, 2].map((command) => commits.submit(command))
  const closed = commits.close()
  await expect(commits.submit(3)).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(commits.submitIdly(3)).rejects.toBeInstanceOf(StoreUnavailable)
  await store.finishNext()
  await store.finishNext()
  await closed
  expect(await Promise.all(answers)).toEqual(['committed 1', 'committed 2'])
})

test('closing commits idle commands at once', async () => {
  const store = createScriptedStore()
  const commits = new GroupCommit({ ...settings, commit: store.commit, idleDelayMs: 60_000 })
  const idle = commits.submitIdly(1)
  const closed = commits.close()
  await store.finishNext()
  await closed
  expect(await idle).toBe('committed 1')
})

/** A store in which the rows of some owners are locked; it records each call and its wait. */
function createLockedStore(locked: ReadonlySet<string>) {
  const asked: string[] = []
  return {
    asked,
    async commit(commands: readonly string[], patience: string): Promise<readonly string[]> {
      asked.push(`${patience} ${commands.join(' ')}`)
      if (commands.some((command) => locked.has(command[0] ?? ''))) throw new RowsLocked('locked')
      return commands
    },
  }
}

const ofOwners = {
  ...settings,
  rank: () => 0,
  isAwaited: () => true,
  ownerOf: (command: string) => command[0] ?? null,
}

test('an owner whose rows are locked costs the others one wait, and is left alone for longer each time', async () => {
  let nowMs = 0
  const locked = new Set(['b'])
  const store = createLockedStore(locked)
  const commits = new GroupCommit({ ...ofOwners, commit: store.commit, elapsedMs: () => nowMs })
  const all = (...commands: string[]) =>
    Promise.allSettled(commands.map((command) => commits.submit(command)))
  const statuses = (answers: readonly { readonly status: string }[]) =>
    answers.map(({ status }) => status)
  const first = await all('a1', 'b1', 'c1', 'b2')
  expect(statuses(first)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  expect(first[1]).toMatchObject({ reason: expect.any(RowsLocked) })
  expect(store.asked).toEqual(['usual a1 b1 c1 b2', 'little a1', 'little b1 b2', 'little c1'])
  store.asked.length = 0
  nowMs = 999
  expect(statuses(await all('b3', 'a2'))).toEqual(['rejected', 'fulfilled'])
  expect(store.asked).toEqual(['usual a2'])
  store.asked.length = 0
  nowMs = 1_000
  expect(statuses(await all('a3', 'b4', 'c2'))).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(store.asked).toEqual(['usual a3 c2', 'little b4'])
  nowMs = 2_999
  await expect(commits.submit('b5')).rejects.toBeInstanceOf(RowsLocked)
  nowMs = 3_000
  locked.clear()
  expect(await commits.submit('b6')).toBe('b6')
  store.asked.length = 0
  expect(statuses(await all('a4', 'b7'))).toEqual(['fulfilled', 'fulfilled'])
  expect(store.asked).toEqual(['usual a4 b7'])
})

test('a client that waits for five seconds is refused, and nothing of its command was sent; one that was sent, after eight', async () => {
  let nowMs = 0
  const store = createScriptedStore()
  const commits = new GroupCommit({
    ...settings,
    isAwaited: (command: number) => command % 2 === 0,
    commit: store.commit,
    elapsedMs: () => nowMs,
  })
  const sent = commits.submit(2)
  const refusedSent = expect(sent).rejects.toEqual(
    new StoreUnavailable('the store has not committed in time'),
  )
  await turn()
  const behind = commits.submit(4)
  const settle = commits.submit(5)
  const refusedBehind = expect(behind).rejects.toBeInstanceOf(NotSent)
  nowMs = 5_000
  await refusedBehind
  nowMs = 7_500
  await refusedSent
  await expect(sent).rejects.not.toBeInstanceOf(NotSent)
  await store.finishNext()
  await store.finishNext()
  expect(await settle).toBe('committed 5')
  expect(store.batches).toEqual([[2], [5]])
})
