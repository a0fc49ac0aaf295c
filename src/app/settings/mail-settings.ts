import type { z } from 'zod'
import type { MailSettings } from '../../mail/mail-server.ts'
import { parseSender, parseSmtpUrl } from '../../mail/smtp-url.ts'
import { optional, parsed, type Setting } from './setting.ts'

/** The settings of email. */
export const MAIL_SETTINGS = {
  SMTP_URL: {
    schema: parsed(parseSmtpUrl),
    fallback: null,
    description:
      'The mail server: `smtps://user:password@host:465`, or `smtp://user:password@host:587` with STARTTLS, which is then required; see [people.md](people.md). `smtp://host:25?tls=off` is for a relay on a network that you trust. Unset: no email is sent.',
    secret: true,
  },
  MAIL_FROM: {
    ...optional(
      'The sender of emails: `gate@example.com` or `Example Gate <gate@example.com>`. Needed with `SMTP_URL`.',
    ),
    schema: parsed(parseSender),
  },
} as const satisfies Record<string, Setting<unknown>>

/** The faults of a combination of email settings. */
export function mailFaults(env: Readonly<Record<string, string | undefined>>): string[] {
  const { SMTP_URL: url = '', MAIL_FROM: from = '' } = env
  if ((url === '') === (from === '')) return []
  const [set, unset] = url === '' ? ['MAIL_FROM', 'SMTP_URL'] : ['SMTP_URL', 'MAIL_FROM']
  return [`${set} is set without ${unset}: set both`]
}

/** How emails are sent; null: none are. */
export function mailSettingsOf({
  SMTP_URL: server,
  MAIL_FROM: from,
}: {
  readonly [Name in keyof typeof MAIL_SETTINGS]: z.output<(typeof MAIL_SETTINGS)[Name]['schema']>
}): MailSettings | null {
  return server === null || from === null ? null : { server, from }
}
