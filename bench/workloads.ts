import type { Workload } from './load.ts'
import { LoadConnection } from './load-connection.ts'
import type { Target } from './target.ts'
import { normalize } from './witness.ts'

const CHAT = '/v1/chat/completions'
const KIB = 1024

/** A chat request of a text model, of exactly so many bytes. */
export function textBody(bodyBytes = KIB): Buffer {
  const bodyOf = (content: string): string =>
    JSON.stringify({ model: 'sim/text', max_tokens: 64, messages: [{ role: 'user', content }] })
  const words = 'lorem ipsum dolor sit amet '.repeat(Math.ceil(bodyBytes / 27))
  return Buffer.from(bodyOf(words.slice(0, bodyBytes - bodyOf('').length)))
}

export interface StreamBodyInput {
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

/** A body with what the provider itself answers to it, which is what every gateway has to answer. */
export async function chatWorkload(direct: Target, body: Buffer): Promise<Workload> {
  const connection = await LoadConnection.open(direct.address)
  const fields = Object.entries({
    host: 'bench',
    'content-length': body.length,
    ...direct.callers[0],
  })
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const answer = await connection.send({
    head: Buffer.from(`POST ${CHAT} HTTP/1.1\r\n${head}\r\n`),
    body,
  })
  connection.close()
  if (answer.httpStatus !== 200) throw new Error(`the simulator answers ${answer.body.toString()}`)
  return { path: CHAT, body, expected: { body: normalize(answer.body.toString()) } }
}
