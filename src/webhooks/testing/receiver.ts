import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { listen } from '../../vocabulary/testing/listen.ts'

// Only for tests: for receiver.example, other.example and this machine, for a hundred years.
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIB0zCCAXmgAwIBAgIUDbVzdp/JIfhTbR4W3uPSkTi5ZwowCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTAgFw0yNjExMjIyMTQyMjRaGA8y
MTI2MTAyOTIxNDIyNFowGzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABAq1KFXexXDgwa4/nmIL0crauBgNaxII/sCY
lRWI2RUIzAyEAnyjdMeCRrjtQvf5zGf112OiptQu75aMCluKiG6jgZgwgZUwHQYD
VR0OBBYEFPRkz/Y1nnhY5dewgj/jlYBQ/BHQMB8GA1UdIwQYMBaAFPRkz/Y1nnhY
5dewgj/jlYBQ/BHQMA8GA1UdEwEB/wQFMAMBAf8wQgYDVR0RBDswOYIQcmVjZWl2
ZXIuZXhhbXBsZYINb3RoZXIuZXhhbXBsZYcEfwAAAYcQAAAAAAAAAAAAAAAAAAAA
ATAKBggqhkjOPQQDAgNIADBFAiEAsi5KulK1c105Oyhp9+CYcRtRct9WEaw/gFjW
FQhKxGACICfBtRrb7lcKKjW1O2T4N9iNfTyUWZspRwiX42PwzpMf
-----END CERTIFICATE-----`
const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgz1ppAsb1W5YIhyTz
XsTNMJzPrKUdSYtopZUebKis4X6hRANCAAQKtShV3sVw4MGuP55iC9HK2rgYDWsS
CP7AmJUViNkVCMwMhAJ8o3THgka47UL3+cxn9ddjoqbULu+WjApbiohu
-----END PRIVATE KEY-----`

/** A message as it arrived. */
interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A receiver of webhooks on a real socket, with a certificate that this process trusts. */
export interface Receiver {
  readonly port: number
  /** For `https://receiver.example`. */
  readonly url: string
  readonly received: readonly Received[]
  close(): Promise<void>
}

/** Starts a receiver; `answer` writes what it likes, or nothing. */
export async function startReceiver(
  answer: (response: ServerResponse<IncomingMessage>) => void,
): Promise<Receiver> {
  setDefaultCACertificates([...getCACertificates('bundled'), CERTIFICATE])
  const received: Received[] = []
  const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url: path = '', headers } = request
      received.push({ path, headers, body: Buffer.concat(chunks).toString() })
      answer(response)
    })
  })
  const port = await listen(server)
  return {
    port,
    url: `https://receiver.example:${port}/hook?of=mine`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
