import { expect, test } from 'vitest'
import { invitationLetter, signInLetter } from './letter.ts'

const LINK = { to: 'ada@example.org', url: 'https://gate.example.com/app/invite#a' } as const

test('an email has the colours of the theme of its reader, and the width of a phone', () => {
  const { html } = signInLetter({
    ...LINK,
    code: '408213',
    endsPassword: false,
    endsFactors: false,
  })
  expect(html).toContain('<meta name="color-scheme" content="light dark">')
  expect(html).toContain('<meta name="viewport" content="width=device-width">')
  // Only the button has colours of its own, both of them.
  expect(html.match(/color:#\w+/g)).toEqual(['color:#fff'])
  expect(html).toContain('background:#0b6b55;color:#fff')
})

test('an invitation says when its link expires, with the time zone', () => {
  const expiresAtMs = Date.parse('2026-12-05T14:02:11Z')
  const { text } = invitationLetter({ ...LINK, accountName: 'Helix Lab', expiresAtMs })
  expect(text).toContain(
    'You are invited to use the account "Helix Lab". The link works once, until 2026-12-05 14:02 UTC.',
  )
})
