import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type JourneyWorldInput, STREAM_BODY, startJourneyWorld } from './journey-world.ts'
import { dial, posted, wholeRequest } from './raw-server.ts'

/** A journey world whose provider says nothing until the test does, one request a connection. */
export async function startLeavingWorld(input: Omit<JourneyWorldInput, 'upstream'> = {}) {
  const waiting: ((socket: Socket) => void)[] = []
  const come: Socket[] = []
  const to = await startJourneyWorld({
    ...input,
    upstream: async (socket) => {
      await wholeRequest(socket)
      const wanted = waiting.shift()
      if (wanted === undefined) come.push(socket)
      else wanted(socket)
    },
  })
  const nextCall = async (): Promise<Socket> =>
    come.shift() ?? new Promise((resolve) => waiting.push(resolve))
  const { pathname } = new URL(to.url)
  let sent = 0
  /** Sends a stream; resolves with the provider's side, once that has it, and with how the client goes on. */
  const send = async (body = STREAM_BODY) => {
    const place = sent++
    const client = dial(to, posted(body).replace('/v1/chat/completions', pathname))
    const provider = await nextCall()
    const own = to.clients[place]
    if (own === undefined) throw new Error('no client')
    return {
      provider,
      /** Resolves once the gateway knows that the client has left. */
      async leave(): Promise<void> {
        const gone = once(own, 'close')
        client.resetAndDestroy()
        await gone
      },
      /** Resolves once the client has read this. */
      async hears(text: string): Promise<void> {
        let heard = ''
        while (!heard.includes(text)) heard += String((await once(client, 'data'))[0])
      },
    }
  }
  /** Sends a stream and leaves once the provider has it; resolves with the provider's side. */
  const leave = async (body = STREAM_BODY): Promise<Socket> => {
    const sent = await send(body)
    await sent.leave()
    return sent.provider
  }
  return { to, send, leave, nextCall }
}
