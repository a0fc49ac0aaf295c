import { ApiError } from '../../api/client.ts'
import type { SpokenFormat } from './formats.ts'

/** A piece of an answer: its text, or why it ended. */
export type AnswerPiece =
  | { readonly kind: 'text'; readonly text: string }
  /** `length`: the cap of tokens ended it. */
  | { readonly kind: 'end'; readonly reason: string }

/** The content of an event of a stream, or of a whole answer. */
interface Said {
  readonly text: string
  /** Why the answer ended; null: it continues, or the event does not say. */
  readonly reason: string | null
  readonly error: ErrorJson | null
  /** Whether the stream is whole with it. */
  readonly isLast: boolean
}

/**
 * An answer, whole or as it comes. Throws `ApiError` for an error in the stream, and for a stream
 * that ends without its last event. By position: the answer, and its format.
 */
export async function* readAnswer(
  response: Response,
  format: SpokenFormat,
): AsyncGenerator<AnswerPiece> {
  try {
    yield* readPieces(response, format)
  } catch (error) {
    if (error instanceof ApiError) throw error
    // The connection ended, as it does when the gateway stops, or the answer is not whole.
    throw brokenOff(response)
  }
}

async function* readPieces(response: Response, format: SpokenFormat): AsyncGenerator<AnswerPiece> {
  const readSaid = READERS[format]
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!isStream) {
    yield* piecesOf(readSaid(await response.json()), response)
    return
  }
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') return
    const said = readSaid(JSON.parse(data))
    yield* piecesOf(said, response)
    if (said.isLast) return
  }
  throw brokenOff(response)
}

function brokenOff(response: Response): ApiError {
  return failure('The answer broke off before its end.', 'broken_off', response)
}

interface ErrorJson {
  readonly message?: string
  readonly code?: string | null
}

function* piecesOf({ text, reason, error }: Said, response: Response): Generator<AnswerPiece> {
  if (error !== null) {
    throw failure(error.message ?? 'The answer failed.', error.code ?? 'unknown', response)
  }
  if (text !== '') yield { kind: 'text', text }
  if (reason !== null) yield { kind: 'end', reason }
}

interface ChatJson {
  readonly error?: ErrorJson
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly message?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }[]
}

function readChat({ error = undefined, choices: [choice] = [] }: ChatJson): Said {
  return {
    text: (choice?.delta ?? choice?.message)?.content ?? '',
    reason: choice?.finish_reason ?? null,
    error: error ?? null,
    isLast: false,
  }
}

interface MessagesJson {
  readonly type?: string
  readonly error?: ErrorJson
  readonly content?: readonly { readonly text?: string }[]
  readonly stop_reason?: string | null
  readonly delta?: { readonly text?: string; readonly stop_reason?: string | null }
}

function readMessages({ type, error, content = [], delta, ...whole }: MessagesJson): Said {
  const reason = delta?.stop_reason ?? whole.stop_reason ?? null
  return {
    text: delta?.text ?? content.map(({ text = '' }) => text).join(''),
    reason: reason === 'max_tokens' ? 'length' : reason,
    error: error ?? null,
    isLast: type === 'message_stop',
  }
}

interface ResponsesJson extends ErrorJson {
  readonly type?: string
  readonly delta?: unknown
  readonly error?: ErrorJson | null
  readonly output?: readonly { readonly content?: readonly { readonly text?: string }[] }[]
  readonly incomplete_details?: { readonly reason?: string } | null
  readonly response?: ResponsesJson
}

const LAST_OF_RESPONSES = /^response\.(?:completed|incomplete|failed)$/

function readResponses(event: ResponsesJson): Said {
  const { type = '', delta } = event
  const isEvent = type === 'error' || type.startsWith('response.')
  const answer = isEvent ? event.response : event
  const isLast = LAST_OF_RESPONSES.test(type)
  const isText = type === 'response.output_text.delta' && typeof delta === 'string'
  const whole = (answer?.output ?? []).flatMap(({ content = [] }) => content)
  const isEnd = isLast || !isEvent
  return {
    text: isText ? delta : isEvent ? '' : whole.map(({ text = '' }) => text).join(''),
    reason: isEnd ? reasonOf(answer) : null,
    error: type === 'error' ? (event.error ?? event) : (answer?.error ?? null),
    isLast,
  }
}

function reasonOf(answer: ResponsesJson | undefined): string {
  const reason = answer?.incomplete_details?.reason ?? 'stop'
  return reason === 'max_output_tokens' ? 'length' : reason
}

const READERS = {
  chat: readChat,
  messages: readMessages,
  responses: readResponses,
} as const satisfies Record<SpokenFormat, (json: never) => Said>

/** The data of each event of a stream, however its bytes are cut. */
async function* readEvents({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('data:')) yield line.slice('data:'.length).trim()
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function failure(message: string, code: string, { status, headers }: Response): ApiError {
  return new ApiError(message, {
    httpStatus: status,
    code,
    param: null,
    requestId: headers.get('x-request-id'),
    retryAfterSeconds: null,
  })
}
