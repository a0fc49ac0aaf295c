import { ApiError } from '../../api/client.ts'

/** A piece of an answer: its text, or why it ended. */
export type AnswerPiece =
  | { readonly kind: 'text'; readonly text: string }
  /** `length`: the cap of tokens ended it. */
  | { readonly kind: 'end'; readonly reason: string }

/**
 * The answer of a chat, whole or as it comes. Throws `ApiError` for an error in the stream, and for a stream
 * that ends without its last event.
 */
export async function* readChatAnswer(response: Response): AsyncGenerator<AnswerPiece> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  if (!isStream) {
    yield* piecesOf(await response.json(), response)
    return
  }
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') return
    yield* piecesOf(JSON.parse(data), response)
  }
  throw failure('The answer broke off before its end.', 'broken_off', response)
}

interface ChatJson {
  readonly error?: { readonly message?: string; readonly code?: string | null }
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly message?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }[]
}

function* piecesOf({ error, choices }: ChatJson, response: Response): Generator<AnswerPiece> {
  if (error !== undefined) {
    throw failure(error.message ?? 'The answer failed.', error.code ?? 'unknown', response)
  }
  for (const { delta, message, finish_reason: reason } of choices ?? []) {
    const text = (delta ?? message)?.content ?? ''
    if (text !== '') yield { kind: 'text', text }
    if (reason) yield { kind: 'end', reason }
  }
}

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
