import { wordsOf } from './json.ts'

/** The request of a client: exact bytes, and when the client leaves. */
export interface Asking {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Leaves when this resolves, or as soon as this is true for the text so far. */
  readonly leaveAfter?: Promise<unknown> | undefined
  readonly leaveAt?: (text: string) => boolean
  readonly timeoutMs?: number
  /** Uses connections again. A gateway may close one just as its next request comes, so the default is not to. */
  readonly connection?: 'keep-alive'
}

/** The answer to a running request, so far. */
export const NO_ANSWER = {
  httpStatus: 0,
  text: '',
  /** The values of its headers. */
  headers: [] as readonly string[],
  left: false,
  /** Why it broke off or did not come; null: it came to its end, or the client left. */
  broke: 'not yet' as string | null,
  tookMs: 0,
}

/** The answer that a client saw. */
export type Answer = Readonly<typeof NO_ANSWER>

/** Sends one request and reads its answer until its end, or until the client leaves. Never rejects. */
export async function ask(asking: Asking): Promise<Answer> {
  const startedAt = performance.now()
  const { url, body = null, leaveAt, timeoutMs = 60_000, connection = 'close' } = asking
  const seen = { ...NO_ANSWER, broke: null as string | null }
  const leaving = new AbortController()
  const late = AbortSignal.timeout(timeoutMs)
  const leave = (): void => leaving.abort()
  asking.leaveAfter?.then(leave, leave)
  try {
    const response = await fetch(url, {
      method: asking.method ?? (body === null ? 'GET' : 'POST'),
      headers: { 'accept-encoding': 'identity', connection, ...asking.headers },
      body,
      signal: AbortSignal.any([leaving.signal, late]),
    })
    seen.httpStatus = response.status
    seen.headers = [...response.headers.values()]
    const decoder = new TextDecoder()
    for await (const bytes of response.body ?? []) {
      seen.text += decoder.decode(bytes, { stream: true })
      if (leaveAt?.(seen.text)) leave()
    }
  } catch (error) {
    if (!leaving.signal.aborted) seen.broke = late.aborted ? 'no end in time' : wordsOf(error)
  }
  return { ...seen, left: leaving.signal.aborted, tookMs: performance.now() - startedAt }
}

/** The contents of the events of a stream that have arrived. */
export function eventsOf(text: string): string[] {
  return [...text.matchAll(/^data: *(.*)\r?\n/gm)].map(([, data = '']) => data)
}
