import { Agent, type IncomingMessage, request } from 'node:http'

/** What a client sends: exact bytes, and when it leaves. */
export interface Asking {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Leaves so long after sending, or at the event that this is true for. */
  readonly leaveAfterMs?: number
  readonly leaveAt?: (event: string, count: number) => boolean
  readonly timeoutMs?: number
}

/** What a client saw. */
export interface Answer {
  /** 0: no answer. */
  readonly httpStatus: number
  readonly text: string
  /** The events of a stream, each without `data: `. */
  readonly events: readonly string[]
  readonly left: boolean
  /** Why the answer broke off, or did not come. */
  readonly broke: string | null
  readonly tookMs: number
}

const TIMEOUT_MS = 60_000
const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: 120_000 })

/** Sends one request and reads its answer until its end, or until the client leaves. Never rejects. */
export function ask(asking: Asking): Promise<Answer> {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    const seen = { httpStatus: 0, text: '', events: [] as string[], left: false }
    let isOver = false
    const over = (broke: string | null): void => {
      if (isOver) return
      isOver = true
      for (const timer of timers) clearTimeout(timer)
      resolve({ ...seen, broke, tookMs: performance.now() - startedAt })
    }
    const { method = asking.body === undefined ? 'GET' : 'POST', headers = {} } = asking
    const sent = request(asking.url, { method, headers, agent })
    const leave = (): void => {
      seen.left = true
      sent.destroy()
      over(null)
    }
    const giveUp = (): void => {
      sent.destroy()
      over('no end in time')
    }
    const timers = [setTimeout(giveUp, asking.timeoutMs ?? TIMEOUT_MS)]
    if (asking.leaveAfterMs !== undefined) timers.push(setTimeout(leave, asking.leaveAfterMs))
    sent.on('error', (error) => over(error.message))
    sent.on('response', (response) => {
      seen.httpStatus = response.statusCode ?? 0
      read(response, (piece) => {
        if (isOver) return
        seen.text += piece
        let end = seen.text.indexOf('\n\n', cursor)
        for (; end !== -1; end = seen.text.indexOf('\n\n', cursor)) {
          const event = dataOf(seen.text.slice(cursor, end))
          cursor = end + 2
          if (event === null) continue
          seen.events.push(event)
          if (asking.leaveAt?.(event, seen.events.length)) return leave()
        }
      }).then(
        () => over(null),
        (error) => over(error instanceof Error ? error.message : String(error)),
      )
    })
    let cursor = 0
    sent.end(asking.body)
  })
}

async function read(response: IncomingMessage, take: (piece: string) => void): Promise<void> {
  response.setEncoding('utf8')
  for await (const piece of response) take(piece)
}

function dataOf(event: string): string | null {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? null : lines.map((line) => line.slice(5).trim()).join('\n')
}

/** Runs tasks, at most so many at once, and resolves with what they returned, in order. */
export async function atOnce<Result>(
  most: number,
  tasks: readonly (() => Promise<Result>)[],
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < tasks.length; index = next++) {
      const task = tasks[index]
      if (task !== undefined) results[index] = await task()
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, tasks.length) }, work))
  return results
}
