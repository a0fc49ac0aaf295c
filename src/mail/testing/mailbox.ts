import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** An email that a mail server was given. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** As it came. */
  readonly raw: string
  /** Lines before the first empty one, unfolded. */
  readonly headers: readonly string[]
  readonly text: string
  readonly html: string
}

/** A mail server on its own port, for tests. */
export interface Mailbox {
  readonly port: number
  /** Its address, as `SMTP_URL` takes it. */
  readonly url: string
  /** The emails that it received, in order. */
  readonly mails: readonly ReceivedMail[]
  /** Resolves with the email of a number, from 0, when it has come. */
  mail(index: number): Promise<ReceivedMail>
  close(): Promise<void>
}

/** Starts a mail server that takes all email, without TLS or a sign-in unless the options say else. */
export async function startMailbox(options: SMTPServerOptions = {}): Promise<Mailbox> {
  const mails: ReceivedMail[] = []
  const waiting = new Set<() => void>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('utf8')
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom === false ? '' : mailFrom.address
        mails.push({ from, to: rcptTo.map(({ address }) => address), raw, ...partsOf(raw) })
        done()
        for (const look of [...waiting]) look()
      })
    },
    ...options,
  })
  // A client that is cut off.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens has one.
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}?tls=off`,
    mails,
    mail: (index) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = mails[index]
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

function partsOf(raw: string): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const [head = ''] = raw.split('\r\n\r\n', 1)
  const headers = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  return { headers, text: partOf(raw, 'text/plain'), html: partOf(raw, 'text/html') }
}

/** The decoded body of one part of an email. */
function partOf(raw: string, type: string): string {
  const at = raw.indexOf(`Content-Type: ${type}`)
  if (at === -1) return ''
  const [head = '', ...rest] = raw.slice(at).split('\r\n\r\n')
  const [body = ''] = rest.join('\r\n\r\n').split(/\r\n--[^\r\n]+/, 1)
  if (/base64/i.test(head))
    return Buffer.from(body, 'base64').toString('utf8').replaceAll('\r\n', '\n')
  if (!/quoted-printable/i.test(head)) return body.replaceAll('\r\n', '\n')
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_quoted, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n')
}
