import { expect } from 'vitest'
import type { Mailbox } from '../../src/mail/testing/mailbox.ts'
import { ADA, type Browser } from './page-client.ts'

/** The page's own address, behind a proxy. */
export const ORIGIN = { origin: 'https://gate.example.com' }

/** The settings of a gateway that sends its emails to a box. */
export function mailSettings(box: Pick<Mailbox, 'url'>) {
  return {
    SMTP_URL: box.url,
    MAIL_FROM: 'Gate <gate@example.com>',
    TOLLGATE_TRUSTED_PROXIES: '127.0.0.1',
    TOLLGATE_PUBLIC_URL: ORIGIN.origin,
  }
}

/** The text behind `#` of an email's link. */
export async function linkIn(box: Pick<Mailbox, 'mail'>, index: number): Promise<string> {
  const { text } = await box.mail(index)
  return /https:\/\/gate\.example\.com\/app\/[\w-]+#([\w-]{32})\n/.exec(text)?.[1] ?? ''
}

/** The code of six digits in an email. */
export async function codeIn(box: Pick<Mailbox, 'mail'>, index: number): Promise<string> {
  return /^(\d{6})$/m.exec((await box.mail(index)).text)?.[1] ?? ''
}

/** Asks for an email to sign in with, default Ada's. Returns the ticket that its code needs. */
export async function askForMail(browser: Browser, email: string = ADA.email): Promise<string> {
  const { httpStatus, json } = await browser.post('auth/mail/sign-in', { email })
  expect(httpStatus).toBe(200)
  return String(json['ticket'])
}
