import { wordsOf } from './json.ts'

/** What a client sends: exact bytes, and when it leaves. */
export interface Asking {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Leaves so long after sending, when this resolves, or at the event that this is true for. */
  readonly leaveAfterMs?: number
  readonly leaveAfter?: Promise<unknown> | undefined
  readonly leaveAt?: (event: string, count: number) => boolean
  readonly timeoutMs?: number
}

/** What a client has seen before an answer: no status, no text, none of a stream's events, each without `data: `. */
export const NOTHING = {
  httpStatus: 0,
  text: '',
  events: [] as readonly string[],
  /** The values of its headers. */
  headers: [] as readonly string[],
  left: false,
  tookMs: 0,
}

/** What a client saw, and why the answer broke off or did not come; null: it came to its end. */
export type Answer = Readonly<typeof NOTHING> & { readonly broke: string | null }

const TIMEOUT_MS = 60_000

/** Sends one request and reads its answer until its end, or until the client leaves. Never rejects. */
export async function ask(asking: Asking): Promise<Answer> {
  const startedAt = performance.now()
  const { url, body = null, headers = {}, leaveAt, leaveAfterMs } = asking
  const seen = { ...NOTHING, events: [] as string[] }
  const connection = new AbortController()
  const leave = (): void => {
    seen.left = true
    connection.abort()
  }
  const timers = [setTimeout(() => connection.abort(), asking.timeoutMs ?? TIMEOUT_MS)]
  if (leaveAfterMs !== undefined) timers.push(setTimeout(leave, leaveAfterMs))
  asking.leaveAfter?.then(leave, leave)
  let broke: string | null = null
  try {
    const response = await fetch(url, {
      method: asking.method ?? (body === null ? 'GET' : 'POST'),
      headers: { 'accept-encoding': 'identity', ...headers },
      body,
      signal: connection.signal,
    })
    seen.httpStatus = response.status
    seen.headers = [...response.headers.values()]
    const decoder = new TextDecoder()
    let rest = ''
    for await (const bytes of response.body ?? []) {
      const piece = decoder.decode(bytes, { stream: true })
      seen.text += piece
      const blocks = (rest + piece).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const event of blocks.flatMap(dataOf)) {
        seen.events.push(event)
        if (!seen.left && leaveAt?.(event, seen.events.length)) leave()
      }
    }
  } catch (error) {
    broke = seen.left ? null : connection.signal.aborted ? 'no end in time' : wordsOf(error)
  }
  for (const timer of timers) clearTimeout(timer)
  return { ...seen, broke, tookMs: performance.now() - startedAt }
}

/** What the lines of data in an event's block say; of a block without data, none. */
function dataOf(block: string): string[] {
  const lines = block.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).trim()).join('\n')]
}
