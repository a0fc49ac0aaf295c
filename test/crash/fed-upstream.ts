import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { listen } from '../../src/vocabulary/testing/listen.ts'

/** An upstream whose one stream is written by the test, event by event. */
interface FedUpstream {
  /** Ends in `/v1`. */
  readonly baseUrl: string
  /** The stream, once it was asked for. */
  stream(): Promise<FedStream>
  close(): Promise<void>
}

/** A stream that continues for as long as a test feeds it. */
interface FedStream {
  /** Everything that was written so far. */
  readonly written: string
  write(event: string): void
  end(): void
}

/** Starts an upstream with the listings of the one at `baseUrl`. */
export async function startFedUpstream(baseUrl: string): Promise<FedUpstream> {
  const asked = Promise.withResolvers<FedStream>()
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      request.resume()
      asked.resolve(streamOn(response))
      return
    }
    const listed = await fetch(`${baseUrl}${(request.url ?? '').replace(/^\/v1/, '')}`)
    response.writeHead(listed.status, { 'content-type': 'application/json' })
    response.end(await listed.text())
  })
  const port = await listen(server)
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    stream: () => asked.promise,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function streamOn(response: ServerResponse): FedStream {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  let written = ''
  return {
    get written() {
      return written
    },
    write(event) {
      written += event
      response.write(event)
    },
    end: () => void response.end(),
  }
}
