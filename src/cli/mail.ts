import { Command } from 'commander'
import { testLetter } from '../mail/letter.ts'
import { MailRefused, MailServer } from '../mail/mail-server.ts'
import type { CommandInput } from './command-context.ts'
import type { CommandGroup } from './operation-command.ts'
import { CommandFailure } from './terminal.ts'

/** `tollgate mail`: whether the gateway can send email. */
export const MAIL_COMMANDS: CommandGroup = {
  name: 'mail',
  words: 'send a test email',
  commands: [{ make: mailTestCommand }],
}

function mailTestCommand({ settings, terminal }: CommandInput): Command {
  return new Command('test')
    .description("send a test email with the current settings, and print the mail server's answer")
    .argument('<address>', 'who gets it')
    .action(async (to: string) => {
      const { mail, pageUrl } = settings()
      if (mail === null) {
        throw new CommandFailure('no email is sent: set SMTP_URL and MAIL_FROM (docs/config.md)')
      }
      const { host, port } = mail.server
      try {
        const answer = await new MailServer(mail).send(testLetter({ to, pageUrl }))
        terminal.out(`${host}:${port} accepted the email: ${answer}`)
      } catch (error) {
        if (!(error instanceof MailRefused)) throw error
        throw new CommandFailure(`${host}:${port}: ${error.message}`, { cause: error })
      }
    })
}
