import { escaped } from '../vocabulary/escaped.ts'

/** An email to one person. */
export interface Letter {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** Texts of a letter: the address that it goes to, that of its link, and its code. */
type Texts<Name extends string> = Readonly<Record<Name, string>>

/** A piece of a letter, from which both its text and its HTML are made. */
type Part =
  | { readonly kind: 'words'; readonly words: string }
  /** A link with the words of its button. */
  | { readonly kind: 'link'; readonly words: string; readonly url: string }
  | { readonly kind: 'code'; readonly code: string }

/** Makes a letter. Texts that people chose, such as names, can be anything: they become neither markup nor a header. */
export function letterOf({
  to,
  subject,
  parts,
}: Texts<'to' | 'subject'> & { readonly parts: readonly Part[] }): Letter {
  return {
    to,
    subject: oneLine(subject),
    text: `${parts.map(textOf).join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escaped(oneLine(subject))}</title></head><body style="${BODY}">${parts.map(htmlOf).join('')}</body></html>`,
  }
}

// Without a colour of its own, the text has that of the reader's theme, which can be dark.
const BODY = 'font:15px/22px sans-serif;max-width:480px;margin:24px auto;padding:0 16px'
const BUTTON =
  'display:inline-block;padding:10px 16px;border-radius:8px;background:#0b6b55;color:#fff;text-decoration:none'

function textOf(part: Part): string {
  if (part.kind === 'words') return oneLine(part.words)
  return part.kind === 'link' ? `${part.words}:\n${part.url}` : part.code
}

/** No pictures, scripts or addresses of others: so the sender cannot see that the email was opened. */
function htmlOf(part: Part): string {
  if (part.kind === 'words') return `<p>${escaped(oneLine(part.words))}</p>`
  if (part.kind === 'code') {
    return `<p style="font:600 26px/32px monospace;letter-spacing:4px">${escaped(part.code)}</p>`
  }
  const url = escaped(part.url)
  return `<p><a href="${url}" style="${BUTTON}">${escaped(part.words)}</a></p><p style="font-size:13px;word-break:break-all">${url}</p>`
}

/** A person with an email address. */
interface Named {
  readonly name: string
  readonly email: string
}

/** "Ada (ada@example.org)": anyone can choose a name, so the address is beside it. The address alone where it is the name. */
export function namedText({ name, email }: Named): string {
  return name === email ? email : `${name} (${email})`
}

/** "2027-01-01 00:00 UTC": an email does not know the reader's time zone. */
export function momentText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** A line break in a name would begin a header, or a paragraph that looks like the gateway's own. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ').trim()
}

const words = (text: string): Part => ({ kind: 'words', words: text })

/** By position: what the email has that works. */
const notAsked = (what: string): Part =>
  words(
    `If you did not ask for this email, ignore it: nothing changes until the ${what} in it is used.`,
  )

/** The letter of `tollgate mail test`. */
export function testLetter({ to, pageUrl }: Texts<'to' | 'pageUrl'>): Letter {
  return letterOf({
    to,
    subject: 'Test email from your gateway',
    parts: [
      words(
        'Your gateway can send email. This is the test email that you asked for. Links in its emails begin with the address below.',
      ),
      { kind: 'link', words: 'Open the page', url: `${pageUrl}/app/` },
    ],
  })
}

/** A way in without a password: a link, and a code for the browser that asked. */
export function signInLetter({
  to,
  url,
  code,
  endsPassword,
  endsFactors,
}: Texts<'to' | 'url' | 'code'> & {
  /** Whether it is the first proof of the address, which ends the password that was set without one. */
  readonly endsPassword: boolean
  /** Whether that proof also ends second factors. */
  readonly endsFactors: boolean
}): Letter {
  return letterOf({
    to,
    subject: 'Your code to sign in',
    parts: [
      words(
        'Enter this code on the page where you asked for it within 15 minutes, or open the link within 45 minutes. Either works once.',
      ),
      { kind: 'code', code },
      { kind: 'link', words: 'Sign in', url },
      ...(endsPassword
        ? [
            words(
              `You have not confirmed this address by email before. Signing in this way ends all sessions and removes the password${endsFactors ? ' and the second factors that were set before' : ' that was set before'}. To set a new password, choose "Forgot your password?" on the sign-in page.`,
            ),
          ]
        : []),
      notAsked('code or the link'),
    ],
  })
}

/** A way in for a person who is no user yet, and becomes one by it. */
export function signUpLetter({ to, url, code }: Texts<'to' | 'url' | 'code'>): Letter {
  return letterOf({
    to,
    subject: 'Your code to sign up',
    parts: [
      words(
        'To create your account, enter this code on the page where you asked for it within 15 minutes, or open the link within 45 minutes. Either works once.',
      ),
      { kind: 'code', code },
      { kind: 'link', words: 'Sign up', url },
      notAsked('code or the link'),
    ],
  })
}

/** A link by which a user sets another password. */
export function resetLetter({
  to,
  url,
  endsFactors,
}: Texts<'to' | 'url'> & {
  /** Whether it is the first proof of an address that was only claimed. */
  readonly endsFactors: boolean
}): Letter {
  return letterOf({
    to,
    subject: 'Choose a new password',
    parts: [
      words('Use this link to choose a new password. It works once, within 45 minutes.'),
      { kind: 'link', words: 'Choose a new password', url },
      ...(endsFactors
        ? [
            words(
              'You have not confirmed this address by email before. Choosing a new password also removes the second factors that were set before.',
            ),
          ]
        : []),
      notAsked('link'),
    ],
  })
}

/** A link by which a user changes to the address that it is sent to. */
export function newEmailLetter({
  to,
  url,
  user,
}: Texts<'to' | 'url'> & {
  /** The user, with the present address. */
  readonly user: Named
}): Letter {
  return letterOf({
    to,
    subject: 'Confirm your new email address',
    parts: [
      words(
        `${namedText(user)} wants to sign in with this address from now on. Use this link to confirm it, in a browser where you are signed in. It works once, within 45 minutes.`,
      ),
      { kind: 'link', words: 'Confirm the address', url },
      notAsked('link'),
    ],
  })
}

/** A notice to the earlier address of a user. `email`: the new one. */
export function emailChangedLetter({ to, email }: Texts<'to' | 'email'>): Letter {
  return letterOf({
    to,
    subject: 'Your email address was changed',
    parts: [
      words(
        `You now sign in with ${email}. Emails about your accounts go to that address, and links and codes to sign in no longer come to this one.`,
      ),
      words(
        'If you did not change it, ask the operator of the service at once to remove your access and to invite you again.',
      ),
    ],
  })
}

/** An invitation. */
export function invitationLetter({
  to,
  url,
  inviter,
  accountName,
  serviceName,
  expiresAtMs,
}: Texts<'to' | 'url'> & {
  /** The user who invites; null: the command line or a token does. */
  readonly inviter: Named | null
  /** Null: the person only becomes an operator. */
  readonly accountName: string | null
  /** The name of the service; null: the operator gave it none. */
  readonly serviceName: string | null
  readonly expiresAtMs: number
}): Letter {
  const at = serviceName === null ? '' : ` at ${serviceName}`
  const operated = serviceName ?? 'this gateway'
  const what =
    accountName === null ? `operate ${operated}` : `use the account "${accountName}"${at}`
  const by = inviter === null ? 'You are invited' : `${namedText(inviter)} invites you`
  return letterOf({
    to,
    subject:
      accountName === null
        ? `You are invited to operate ${serviceName ?? 'a gateway'}`
        : `You are invited to “${accountName}”${at}`,
    parts: [
      words(`${by} to ${what}. The link works once, until ${momentText(expiresAtMs)}.`),
      { kind: 'link', words: 'Join', url },
      words('If you did not expect this invitation, ignore this email.'),
    ],
  })
}
