import type { IncomingMessage } from 'node:http'

/** Whether the client waits to be told to go on before it sends its body. */
export function asksToGoOn({ headers, httpVersion }: IncomingMessage): boolean {
  return (
    headers.expect !== undefined && httpVersion === '1.1' && /100-continue/i.test(headers.expect)
  )
}
