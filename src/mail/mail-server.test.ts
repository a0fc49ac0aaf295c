import { createServer, type Server } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { listen } from '../vocabulary/testing/listen.ts'
import { testLetter } from './letter.ts'
import { MailRefused, MailServer } from './mail-server.ts'
import { parseSender, parseSmtpUrl } from './smtp-url.ts'
import { type Mailbox, startMailbox } from './testing/mailbox.ts'

let closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing) await close()
  closing = []
})

async function mailbox(...options: Parameters<typeof startMailbox>): Promise<Mailbox> {
  const made = await startMailbox(...options)
  closing.push(() => made.close())
  return made
}

function serverAt(url: string, timeoutMs?: number): MailServer {
  return new MailServer({
    server: parseSmtpUrl(url),
    from: { name: 'Gate', address: 'gate@example.com' },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

const LETTER = testLetter({ to: 'ada@example.org', pageUrl: 'https://gate.example.com' })

/** A server that answers each line of a client in its own way. */
async function scripted(answer: (line: string) => string | null): Promise<string> {
  const server: Server = createServer((socket) => {
    const say = (text: string | null): void => {
      if (text !== null) socket.write(`${text}\r\n`)
    }
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      for (const line of bytes.toString().split('\r\n')) if (line !== '') say(answer(line))
    })
    say(answer(''))
  })
  const port = await listen(server)
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return `smtp://127.0.0.1:${port}?tls=off`
}

async function refusal(sending: Promise<string>): Promise<MailRefused> {
  const error = await sending.then(
    (answer) => new Error(`taken: ${answer}`),
    (thrown: unknown) => thrown,
  )
  if (error instanceof MailRefused) return error
  throw error
}

test('an email has the same text as plain text and as HTML, and no picture, script or address of another server', async () => {
  const box = await mailbox()
  expect(await serverAt(box.url).send(LETTER)).toMatch(/^250 /)
  const { from, to, headers, text, html } = await box.mail(0)
  expect([from, to]).toEqual(['gate@example.com', ['ada@example.org']])
  expect(headers).toEqual(
    expect.arrayContaining([
      'From: Gate <gate@example.com>',
      'To: ada@example.org',
      'Subject: Test email from your gateway',
      'Auto-Submitted: auto-generated',
    ]),
  )
  for (const body of [text, html]) {
    expect(body).toContain('Your gateway can send email.')
    expect(body).toContain('https://gate.example.com/app/')
  }
  expect(html).not.toMatch(/<img|<script|<link|url\(|src=/i)
  expect(html.match(/https?:\/\/[^/"<]+/g)).toEqual([
    'https://gate.example.com',
    'https://gate.example.com',
  ])
})

test('line breaks in a subject or a name make no header, and markup in words stays words', async () => {
  const box = await mailbox()
  const letter = testLetter({
    to: 'ada@example.org',
    pageUrl: 'https://gate.example.com"><img src=//evil.example>',
  })
  await serverAt(box.url).send({ ...letter, subject: 'Hi\r\nBcc: eve@example.org\r\n\r\n<b>' })
  const { to, headers, html } = await box.mail(0)
  expect(to).toEqual(['ada@example.org'])
  expect(headers.filter((line) => /^bcc/i.test(line))).toEqual([])
  expect(html).not.toContain('<img')
  expect(html).toContain('&lt;img')
})

test.each([
  'ada@example.org, eve@example.org',
  '"ada@example.org eve"@example.net',
  'ada@example.org\r\nRCPT TO:<eve@example.org>',
  'ada@example.org>',
  'Ada <ada@example.org>',
  '',
])('%j is not an address, and no connection is opened for it', async (to) => {
  const error = await refusal(serverAt('smtp://127.0.0.1:1?tls=off').send({ ...LETTER, to }))
  expect([error.message, error.isTemporary]).toEqual([expect.stringContaining('name@'), false])
})

test('a server that hangs, drips or is away is left at the deadline, and may be tried again', async () => {
  const hanging = await scripted(() => null)
  const dripping = await scripted((line) => (line === '' ? '220 gate' : '250-more'))
  for (const url of [hanging, dripping]) {
    const { message, isTemporary } = await refusal(serverAt(url, 50).send(LETTER))
    expect([message, isTemporary]).toEqual([expect.stringContaining('within 0.05 seconds'), true])
  }
  const away = await refusal(serverAt('smtp://127.0.0.1:1?tls=off').send(LETTER))
  expect([away.message, away.isTemporary]).toEqual(['the mail server cannot be reached', true])
})

test("a refusal has the server's words, and is final for 5yz alone", async () => {
  for (const [answer, isTemporary] of [
    ['450 4.2.1 try later', true],
    ['550 5.1.1 no such user', false],
  ] as const) {
    const url = await scripted((line) =>
      line === '' ? '220 gate' : line.startsWith('RCPT') ? answer : '250 ok',
    )
    const error = await refusal(serverAt(url).send(LETTER))
    expect([error.message, error.isTemporary]).toEqual([
      expect.stringContaining(answer),
      isTemporary,
    ])
  }
})

test('a wrong password is reported as such, and is not tried again', async () => {
  const box = await mailbox({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (_auth, _session, done) => done(null, {}),
  })
  const server = { host: '127.0.0.1', port: box.port, tls: 'off' } as const
  const login = { user: 'gate', password: 'wrong' }
  const from = { name: null, address: 'gate@example.com' }
  const error = await refusal(new MailServer({ server: { ...server, login }, from }).send(LETTER))
  expect([error.message, error.isTemporary]).toEqual([expect.stringContaining('SMTP_URL'), false])
})

test('without TLS that can be trusted nothing is sent unless the settings say so', async () => {
  const plain = await mailbox()
  const noTls = await refusal(serverAt(`smtp://127.0.0.1:${plain.port}`).send(LETTER))
  expect(noTls.message).toContain('TLS')
  // Its certificate is its own.
  const box = await mailbox({ disabledCommands: [] })
  const untrusted = await refusal(serverAt(`smtp://127.0.0.1:${box.port}`).send(LETTER))
  expect(untrusted.message).toContain('TLS')
  expect([plain.mails, box.mails]).toEqual([[], []])
})

test.each([
  ['smtps://user:p%40ss@mail.example.com', { port: 465, tls: 'implicit' }],
  ['smtp://mail.example.com', { port: 587, tls: 'required', login: null }],
  ['smtp://[::1]:25?tls=off', { host: '::1', port: 25, tls: 'off', login: null }],
])('%s is read', (text, read) => {
  expect(parseSmtpUrl(text)).toMatchObject(read)
})

test.each([
  ['mail.example.com', /smtps:\/\/user/],
  ['https://mail.example.com', /smtps:\/\/user/],
  ['smtp://mail.example.com?tls=none', /the only one is \?tls=off/],
  ['smtps://mail.example.com?tls=off', /the only one is \?tls=off/],
  ['smtp://secret@mail.example.com', /a user and a password, or neither/],
  ['smtp://user:secret@mail.example.com?tls=off', /send without encryption/],
  ['smtp://user:sec/ret@mail.example.com', /smtps:\/\/user|%2F/],
  ['smtp://user:secret%@mail.example.com', /%25/],
])('%s is refused without a word of its password', (text, message) => {
  let said = ''
  try {
    parseSmtpUrl(text)
  } catch (error) {
    said = String(error)
  }
  expect(said).toMatch(message)
  expect(said).not.toContain('secret')
})

test('a sender is an address, or a name and an address', () => {
  expect(parseSender('gate@example.com')).toEqual({ name: null, address: 'gate@example.com' })
  expect(parseSender('Our Gate <gate@example.com>')).toEqual({
    name: 'Our Gate',
    address: 'gate@example.com',
  })
  for (const text of ['gate', 'a@example.com, b@example.com', 'x\r\nBcc: y <gate@example.com>']) {
    expect(() => parseSender(text)).toThrow('a name and an address')
  }
})
