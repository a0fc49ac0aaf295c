import type { Workload } from './load.ts'
import { LoadConnection } from './load-connection.ts'
import type { Target } from './target.ts'
import { normalize } from './witness.ts'

const CHAT = '/v1/chat/completions'
const KIB = 1024

/** A chat request of a model without a window, of exactly so many bytes. */
export function textBody(bodyBytes = KIB): Buffer {
  const bodyOf = (content: string): string =>
    JSON.stringify({
      model: 'sim/unknown-window',
      max_tokens: 64,
      messages: [{ role: 'user', content }],
    })
  const words = 'lorem ipsum dolor sit amet '.repeat(Math.ceil(bodyBytes / 27))
  return Buffer.from(bodyOf(words.slice(0, bodyBytes - bodyOf('').length)))
}

interface StreamBodyInput {
  readonly events: number
  /** 0: as fast as they can be written. */
  readonly intervalMs: number
}

/** A chat request that is answered in a stream of that pace. */
export function streamBody({ events, intervalMs }: StreamBodyInput): Buffer {
  const content = JSON.stringify({ events, interval_ms: intervalMs })
  return Buffer.from(
    JSON.stringify({
      model: 'sim/paced',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content }],
    }),
  )
}

const BASE64_LINE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'

/** A chat request of about so many bytes, in messages of about 1 KB. */
export function manyMessagesBody(bodyBytes: number): Buffer {
  const content = 'lorem ipsum dolor sit amet '.repeat(36)
  const messages = Array.from({ length: Math.floor(bodyBytes / (content.length + 34)) }, () => ({
    role: 'user',
    content,
  }))
  return Buffer.from(JSON.stringify({ model: 'sim/unknown-window', max_tokens: 64, messages }))
}

/** An image request of about so many bytes, nearly all of them one picture to start from. */
export function pictureBody(bodyBytes: number): Buffer {
  const base64 = BASE64_LINE.repeat(Math.floor(bodyBytes / BASE64_LINE.length))
  const url = `data:image/png;base64,${base64}`
  const input_references = [{ type: 'image_url', image_url: { url } }]
  return Buffer.from(JSON.stringify({ model: 'sim/image', prompt: 'A gate.', input_references }))
}

/** A chat body with the provider's own answer to it, which every gateway must relay. */
export function chatWorkload(direct: Target, body: Buffer): Promise<Workload> {
  return workloadOf(direct, { path: CHAT, body })
}

/** A workload of requests to any path. */
export async function workloadOf(
  direct: Target,
  { path, body }: Pick<Workload, 'path' | 'body'>,
): Promise<Workload> {
  const connection = await LoadConnection.open(direct.address)
  const fields = Object.entries({
    host: 'bench',
    'content-length': body.length,
    ...direct.callers[0],
  })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const answer = await connection.send({
    head: Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n`),
    body,
  })
  connection.close()
  if (answer.httpStatus !== 200) throw new Error(`the simulator answers ${answer.body.toString()}`)
  return { path, body, expected: { body: normalize(answer.body.toString()) } }
}
