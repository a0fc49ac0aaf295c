import { learnClock } from './clock.ts'

/** A refusal of the server, or a failure to reach it. */
export class ApiError extends Error {
  /** 0: no answer came. */
  readonly httpStatus: number
  readonly code: string
  /** The field of a form that is wrong. */
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null

  constructor(
    message: string,
    fields: Pick<ApiError, 'httpStatus' | 'code' | 'param' | 'requestId' | 'retryAfterSeconds'> & {
      readonly cause?: unknown
    },
  ) {
    super(message, { cause: fields.cause })
    this.name = 'ApiError'
    this.httpStatus = fields.httpStatus
    this.code = fields.code
    this.param = fields.param
    this.requestId = fields.requestId
    this.retryAfterSeconds = fields.retryAfterSeconds
  }
}

/** The code of the error that no answer came. */
export const NO_ANSWER = 'no_answer'

const API = '/app/api'

interface Kept {
  readonly etag: string
  readonly body: unknown
}

// Answers are `no-store`, so that the browser keeps none of them: what is asked again and again is kept
// here with its tag, until the page is left. Bounded: each filter of a list is a path of its own.
const kept = new Map<string, Kept>()
const KEPT_MAX = 60

const forgetters: (() => void)[] = []

/** Has something else forgotten with the answers. */
export function onForget(forget: () => void): void {
  forgetters.push(forget)
}

/** Forgets every answer: after another person signs in, none of them may be shown. */
export function forgetAnswers(): void {
  kept.clear()
  for (const forget of forgetters) forget()
}

let askAgain: () => Promise<boolean> = async () => false

/** Sets who asks the user for the password again; the answer is whether it was right. */
export function onSignInAgain(ask: () => Promise<boolean>): void {
  askAgain = ask
}

/** GET; an answer that has not changed is the same object as before. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const before = kept.get(path)
  const response = await request(path, {
    ...(signal === undefined ? {} : { signal }),
    headers: before === undefined ? {} : { 'if-none-match': before.etag },
  })
  if (response.status === 304 && before !== undefined) return before.body as T
  const body = await bodyOf(response)
  const etag = response.headers.get('etag')
  if (etag !== null) {
    kept.delete(path)
    kept.set(path, { etag, body })
    const [oldest] = kept.keys()
    if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest)
  }
  return body as T
}

/**
 * POST, PUT, PATCH or DELETE with a JSON body. Where the password was asked for too long ago, the user is asked for it, and the
 * change is sent once more.
 */
export async function write<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body: unknown = {},
): Promise<T> {
  const init = { method, headers: JSON_BODY, body: JSON.stringify(body) }
  return again(async () => (await bodyOf(await request(path, init))) as T)
}

const JSON_BODY = { 'content-type': 'application/json' }

async function again<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send()
  } catch (error) {
    const isLate = error instanceof ApiError && error.code === 'sign_in_again'
    if (!isLate || !(await askAgain())) throw error
    return send()
  }
}

/** POST whose answer is read as it comes, and is kept nowhere. Throws as {@link write} does. */
export async function openAnswer(
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<Response> {
  const init = { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body), signal }
  return again(async () => {
    const response = await request(path, { ...init, cache: 'no-store' })
    if (!response.ok) await bodyOf(response)
    return response
  })
}

/** A path with a query; undefined and null are left out, and lists are written with commas. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>,
): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    params.set(name, String(value))
  }
  return params.size === 0 ? path : `${path}?${params}`
}

/** Whether the server answers at all. */
export function isServerThere(): Promise<boolean> {
  return fetch(`${API}/start`).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function request(path: string, init: RequestInit): Promise<Response> {
  const askedAtMs = Date.now()
  try {
    // A path that begins with a slash is outside of the page's own API, such as the sale's.
    const response = await fetch(path.startsWith('/') ? path : `${API}/${path}`, init)
    learnClock(response, askedAtMs)
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError('tollgate cannot be reached.', {
      httpStatus: 0,
      code: NO_ANSWER,
      param: null,
      requestId: null,
      retryAfterSeconds: null,
      cause: error,
    })
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  const body: unknown = await response.json().catch(() => null)
  if (response.ok && body !== null) return body
  const { message = messageWithout(response), code, param } = errorOf(body)
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new ApiError(message, {
    httpStatus: response.status,
    code: code ?? 'unknown',
    param: param ?? null,
    requestId: response.headers.get('x-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  })
}

/** The message of an answer that has none, such as the page of a proxy or of a network's login. */
function messageWithout({ ok, status }: Response): string {
  return ok
    ? 'The answer could not be read: it may be from a proxy or a network login. Reload the page to see what was changed.'
    : `tollgate answered ${status} without a reason.`
}

interface ErrorFields {
  readonly message?: string
  readonly code?: string | null
  readonly param?: string | null
}

function errorOf(body: unknown): ErrorFields {
  if (typeof body !== 'object' || body === null || !('error' in body)) return {}
  return typeof body.error === 'object' && body.error !== null ? body.error : {}
}
