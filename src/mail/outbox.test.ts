import { expect, test } from 'vitest'
import { type Letter, testLetter } from './letter.ts'
import { MailRefused } from './mail-server.ts'
import { type LetterEnd, Outbox } from './outbox.ts'

const LETTER = testLetter({ to: 'ada@example.org', pageUrl: 'https://gate.example.com' })
const UNTIL_MS = 1_000

/** An outbox in front of a server with scripted tries, and the ends of its letters. */
function openOutbox(tries: (letter: Letter, stopped?: AbortSignal) => Promise<string>) {
  const ends: LetterEnd[] = []
  let wake: () => void = () => {}
  let nowMs = 0
  const outbox = new Outbox({
    server: { send: tries },
    clock: { nowMs: () => nowMs },
    startDelayMs: 0,
    retryWaitsMs: [0, 0],
    onEnd(end) {
      ends.push(end)
      wake()
    },
  })
  return {
    outbox,
    ends,
    pass: (ms: number) => {
      nowMs += ms
    },
    async ended(count: number): Promise<readonly LetterEnd[]> {
      while (ends.length < count) await new Promise<void>((resolve) => (wake = resolve))
      return ends
    },
  }
}

const away = (isTemporary: boolean) => new MailRefused('away', { isTemporary })

test('an email that can be accepted later is tried again, and an accepted email is not sent twice', async () => {
  let sent = 0
  const { outbox, ended } = openOutbox(async () => {
    if (++sent < 3) throw away(true)
    return '250 ok'
  })
  outbox.post(LETTER, UNTIL_MS)
  expect(await ended(1)).toEqual([{ kind: 'taken', answer: '250 ok' }])
  expect(sent).toBe(3)
})

test('a letter is given up after its last try, at a final refusal, and at its deadline', async () => {
  for (const [isTemporary, tries] of [
    [true, 3],
    [false, 1],
  ] as const) {
    let sent = 0
    const { outbox, ended } = openOutbox(async () => {
      sent++
      throw away(isTemporary)
    })
    outbox.post(LETTER, UNTIL_MS)
    expect(await ended(1)).toEqual([{ kind: 'given_up', reason: 'away' }])
    expect(sent).toBe(tries)
  }
  const late = openOutbox(async () => {
    late.pass(UNTIL_MS)
    throw away(true)
  })
  late.outbox.post(LETTER, UNTIL_MS)
  expect(await late.ended(1)).toEqual([
    { kind: 'given_up', reason: 'its link expired before it could be sent' },
  ])
})

test('a server that hangs holds two connections and 500 letters, and never the caller', async () => {
  let open = 0
  const both = Promise.withResolvers<void>()
  const { outbox, ends } = openOutbox((_letter, stopped) => {
    if (++open === 2) both.resolve()
    return new Promise((_resolve, reject) => {
      stopped?.addEventListener('abort', () => reject(away(true)))
    })
  })
  for (let i = 0; i < 600; i++) outbox.post(LETTER, UNTIL_MS)
  expect([open, ends.length]).toEqual([0, 100])
  expect(ends.every(({ kind }) => kind === 'dropped')).toBe(true)
  await both.promise
  await outbox.stop()
  expect(open).toBe(2)
  outbox.post(LETTER, UNTIL_MS)
  expect(ends.at(-1)).toEqual({ kind: 'dropped' })
})
