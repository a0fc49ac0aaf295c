import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseSmtpUrl } from '../mail/smtp-url.ts'
import { type Mailbox, startMailbox } from '../mail/testing/mailbox.ts'
import { type CommandLine, openCommandLine } from './testing/command-line.ts'

let box: Mailbox
let line: CommandLine

beforeEach(async () => {
  box = await startMailbox()
  line = openCommandLine({
    pageUrl: 'https://gate.example.com',
    mail: { server: parseSmtpUrl(box.url), from: { name: null, address: 'gate@example.com' } },
  })
})
afterEach(async () => {
  line.close()
  await box.close()
})

test('a test mail is sent at once, and the answer of the mail server is printed', async () => {
  const { exitCode, out } = await line.run('mail', 'test', 'ada@example.org')
  expect([exitCode, out]).toEqual([0, expect.stringContaining(`:${box.port} took the mail: 250`)])
  expect((await box.mail(0)).text).toContain('https://gate.example.com/app/')
})

test('a test mail that fails says why, and so does one without a mail server', async () => {
  const bad = await line.run('mail', 'test', 'ada')
  expect([bad.exitCode, bad.notes]).toEqual([1, expect.stringContaining('name@example.com')])
  const none = openCommandLine()
  const { exitCode, notes } = await none.run('mail', 'test', 'ada@example.org')
  expect([exitCode, notes]).toEqual([1, expect.stringContaining('set SMTP_URL and MAIL_FROM')])
  none.close()
})
