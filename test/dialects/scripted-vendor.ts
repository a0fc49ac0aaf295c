import { once } from 'node:events'
import { createServer } from 'node:http'
import { listen } from '../../src/vocabulary/testing/listen.ts'

/** One event of a stream: its name, null for chunks without one, and its data. */
export type ScriptedEvent = readonly [name: string | null, data: object | '[DONE]']

/** A vendor that answers every call with what a test has written. */
export interface ScriptedVendor {
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string
  /** The body of an answer, or the events of a stream. */
  answer: object | readonly ScriptedEvent[]
  /** The body of the last call. */
  readonly sent: Readonly<Record<string, unknown>>
  close(): Promise<void>
}

/** Starts a vendor that lists models with these IDs. */
export async function startScriptedVendor(modelIds: readonly string[]): Promise<ScriptedVendor> {
  let sent: Readonly<Record<string, unknown>> = {}
  const server = createServer(async (incoming, response) => {
    if (incoming.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ data: modelIds.map((id) => ({ id })) }))
      return
    }
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece)
    sent = JSON.parse(Buffer.concat(pieces).toString())
    const { answer } = vendor
    const isStream = Array.isArray(answer)
    response.writeHead(200, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
    })
    response.end(isStream ? answer.map(frameOf).join('') : JSON.stringify(answer))
  })
  const port = await listen(server)
  const vendor: ScriptedVendor = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    answer: {},
    get sent() {
      return sent
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return vendor
}

function frameOf([name, data]: ScriptedEvent): string {
  const line = `data: ${data === '[DONE]' ? data : JSON.stringify(data)}\n\n`
  return name === null ? line : `event: ${name}\n${line}`
}
