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
  const of = { inviter: null, accountName: 'Helix Lab', serviceName: null }
  const { text } = invitationLetter({ ...LINK, ...of, expiresAtMs })
  expect(text).toContain(
    'You are invited to use the account "Helix Lab". The link works once, until 2026-12-05 14:02 UTC.',
  )
})

test('an invitation names the person who invites, with the address, the account and the service', () => {
  const letterOf = (of: Partial<Parameters<typeof invitationLetter>[0]>) => {
    const inviter = { name: 'Ada', email: 'ada@example.org' }
    const whole = { inviter, accountName: 'Helix Lab', serviceName: 'Corner Models' }
    return invitationLetter({ ...LINK, ...whole, expiresAtMs: 0, ...of })
  }
  const whole = letterOf({})
  expect(whole.subject).toBe('You are invited to “Helix Lab” at Corner Models')
  expect(whole.text).toContain(
    'Ada (ada@example.org) invites you to use the account "Helix Lab" at Corner Models.',
  )
  const unnamed = letterOf({ inviter: { name: 'ada@example.org', email: 'ada@example.org' } })
  expect(unnamed.text).toContain('ada@example.org invites you')
  const operator = letterOf({ accountName: null })
  expect(operator.subject).toBe('You are invited to operate Corner Models')
  expect(operator.text).toContain('Ada (ada@example.org) invites you to operate Corner Models.')
  expect(letterOf({ accountName: null, serviceName: null }).text).toContain('operate this gateway.')
})
