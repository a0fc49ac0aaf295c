import { messageOf } from '../vocabulary/message-of.ts'
import type { Letter } from './letter.ts'
import { isMailAddress, type Sender, type SmtpAddress } from './smtp-url.ts'

/** How emails are sent. */
export interface MailSettings {
  readonly server: SmtpAddress
  readonly from: Sender
}

/** The mail server did not take a letter. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
  /** Whether the same letter may be taken later. */
  readonly isTemporary: boolean

  constructor(
    message: string,
    { isTemporary, cause }: { readonly isTemporary: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause })
    this.isTemporary = isTemporary
  }
}

/** Why a letter was not sent, from what was thrown. Anything but a refusal is a fault that may pass. */
export function refusedBy(error: unknown): MailRefused {
  if (error instanceof MailRefused) return error
  return new MailRefused(messageOf(error), { isTemporary: true, cause: error })
}

/** The deadline of one sending: the name's look-up, the connection, TLS, sign-in and the letter. */
const TIMEOUT_MS = 20_000

interface MailServerInput extends MailSettings {
  /** Default 20,000. */
  readonly timeoutMs?: number
}

/** Sends letters by SMTP, each over a connection of its own. */
export class MailServer {
  readonly #input: MailServerInput

  constructor(input: MailServerInput) {
    this.#input = input
  }

  /** Returns the server's answer. Throws MailRefused; `stopped` ends it at once. */
  async send({ to, subject, text, html }: Letter, stopped?: AbortSignal): Promise<string> {
    const { from, timeoutMs = TIMEOUT_MS } = this.#input
    if (!isMailAddress(to)) {
      throw new MailRefused('the address is not of the form name@example.com', {
        isTemporary: false,
      })
    }
    const timedOut = AbortSignal.timeout(timeoutMs)
    const signal = stopped === undefined ? timedOut : AbortSignal.any([timedOut, stopped])
    try {
      const transport = await this.#transport()
      const sent = await transport.sendMail({
        from: { name: from.name ?? '', address: from.address },
        to: { name: '', address: to },
        envelope: { from: from.address, to: [to] },
        subject,
        text,
        html,
        // Answers to it are not read, and must not be sent automatically.
        headers: { 'auto-submitted': 'auto-generated' },
        signal,
      })
      return sent.response
    } catch (cause) {
      throw refusalOf(cause, timedOut.aborted ? timeoutMs : null)
    }
  }

  /** Connects and signs in, and sends nothing. Throws MailRefused. */
  async check(): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#input
    try {
      const transport = await this.#transport({
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
        dnsTimeout: timeoutMs,
        // Even at a server that offers no sign-in: emails with a user and a password need it.
        forceAuth: this.#input.server.login !== null,
      })
      await transport.verify()
    } catch (cause) {
      throw refusalOf(cause, null)
    }
  }

  /** By position: fields of the package's own in addition, such as how long each step of a connection may take. */
  async #transport(more: Readonly<Record<string, number | boolean>> = {}) {
    const { server } = this.#input
    // 1 MB that a gateway without email never loads.
    const { createTransport } = await import('nodemailer')
    return createTransport({
      host: server.host,
      port: server.port,
      secure: server.tls === 'implicit',
      requireTLS: server.tls === 'required',
      ignoreTLS: server.tls === 'off',
      ...(server.login && { auth: { user: server.login.user, pass: server.login.password } }),
      tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true },
      disableFileAccess: true,
      disableUrlAccess: true,
      ...more,
    })
  }
}

/** In words, with the server's own answer. */
function refusalOf(cause: unknown, timeoutMs: number | null): MailRefused {
  if (timeoutMs !== null) {
    const message = `the mail server did not accept the email within ${timeoutMs / 1_000} seconds`
    return new MailRefused(message, { isTemporary: true, cause })
  }
  const fault = Object(cause)
  const code = String(fault.code ?? '')
  const reply = Number(fault.responseCode ?? 0)
  const answer = typeof fault.response === 'string' ? `: ${shown(fault.response)}` : ''
  // 5yz is final: by RFC 5321, 4.2.1, the same must not be sent again.
  const isTemporary = !(reply >= 500 && reply < 600) && code !== 'EAUTH'
  const isTlsFault = code === 'ETLS' || /certificate|\bSSL\b|\bTLS\b/i.test(String(fault.message))
  return new MailRefused(`${wordsOf(isTlsFault ? 'ETLS' : code)}${answer}`, { isTemporary, cause })
}

function wordsOf(code: string): string {
  if (code === 'EAUTH') return 'the mail server refused the user or the password of SMTP_URL'
  if (code === 'EDNS') return 'the name of the mail server in SMTP_URL has no address'
  if (code === 'ETLS') return 'the mail server offers no TLS, or its certificate is not trusted'
  if (code === 'ECONNECTION' || code === 'ESOCKET') return 'the mail server cannot be reached'
  if (code === 'ETIMEDOUT') return 'the mail server did not answer in time'
  if (code === 'EENVELOPE') return 'the mail server refused the sender or the recipient'
  if (code === 'EABORT') return 'the gateway was stopped'
  return 'the mail server did not accept the email'
}

/** A server's words, for a terminal and the log. */
function shown(answer: string): string {
  return answer.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300)
}
