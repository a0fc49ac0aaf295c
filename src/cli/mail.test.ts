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

test('a test email is sent at once, and the answer of the mail server is printed', async () => {
  const { exitCode, out } = await line.run('mail', 'test', 'ada@example.org')
  expect([exitCode, out]).toEqual([
    0,
    expect.stringContaining(`:${box.port} accepted the email: 250`),
  ])
  expect((await box.mail(0)).text).toContain('https://gate.example.com/app/')
  expect(await line.json('mail', 'test', 'ada@example.org')).toEqual({
    object: 'mail_test',
    server: expect.stringContaining(`:${box.port}`),
    answer: expect.stringMatching(/^250/),
  })
})

test('a failed test email is reported with the reason, and so is a missing mail server', async () => {
  const bad = await line.run('mail', 'test', 'ada')
  expect([bad.exitCode, bad.notes]).toEqual([1, expect.stringContaining('name@example.com')])
  const none = openCommandLine()
  const { exitCode, notes } = await none.run('mail', 'test', 'ada@example.org')
  expect([exitCode, notes]).toEqual([1, expect.stringContaining('set SMTP_URL and MAIL_FROM')])
  none.close()
})

test('an invitation is mailed, with the link that is printed', async () => {
  await line.run('account', 'create', '<b>Ada</b>')
  const account = /acct_\w+/.exec((await line.run('account', 'list')).out)?.[0] ?? ''
  const invite = ['user', 'invite', 'eve@example.org', '--account', account, '--mail']
  const { exitCode, out, notes } = await line.run(...invite)
  expect([exitCode, notes]).toEqual([0, expect.stringContaining('emailed to eve@example.org')])
  expect(notes).not.toContain('send it to the person')
  const { to, text, html } = await box.mail(0)
  expect(to).toEqual(['eve@example.org'])
  expect(text).toContain(out.trim())
  expect(text).toContain('use the account "<b>Ada</b>"')
  expect(html).not.toContain('<b>')
})

test('an invitation without an email says that the link must be sent', async () => {
  const { exitCode, notes } = await line.run('user', 'invite', 'eve@example.org', '--operator')
  expect([exitCode, notes]).toEqual([0, expect.stringContaining('send it to the person')])
})

test('an invitation whose email fails is printed with that failure', async () => {
  await box.close()
  const { exitCode, out, notes } = await line.run(
    ...['user', 'invite', 'eve@example.org', '--operator', '--mail'],
  )
  expect([exitCode, out]).toEqual([1, expect.stringContaining('/app/invite#')])
  expect(notes).toContain('the link was created, but no email was sent: the mail server cannot be')
  const none = openCommandLine()
  await none.run('account', 'create', 'Ada')
  const refused = await none.run('user', 'invite', 'eve@example.org', '--operator', '--mail')
  expect([refused.exitCode, refused.notes]).toEqual([2, expect.stringContaining('SMTP_URL')])
  none.close()
})
