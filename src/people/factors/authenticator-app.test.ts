import { Secret, TOTP, URI } from 'otpauth'
import { expect, test } from 'vitest'
import { APP_SECRET, appUrl, makeAppSecret, stepOfCode } from './authenticator-app.ts'

// RFC 6238, appendix B, for SHA-1: the last six of its eight digits.
const RFC_SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const VECTORS = [
  { seconds: 59, code: '287082' },
  { seconds: 1_111_111_109, code: '081804' },
  { seconds: 1_111_111_111, code: '050471' },
  { seconds: 1_234_567_890, code: '005924' },
  { seconds: 2_000_000_000, code: '279037' },
  { seconds: 20_000_000_000, code: '353130' },
]

test.each(VECTORS)(
  '$code is the code of second $seconds, as RFC 6238 has it',
  ({ seconds, code }) => {
    const step = stepOfCode({ secret: RFC_SECRET, code, nowMs: seconds * 1_000 })
    expect(step).toBe(Math.floor(seconds / 30))
  },
)

test('a code is accepted from 30 seconds before its period to 30 seconds after it', () => {
  const code = '279037'
  const step = Math.floor(2_000_000_000 / 30)
  const startMs = step * 30_000
  const stepAt = (nowMs: number) => stepOfCode({ secret: RFC_SECRET, code, nowMs })
  expect([startMs - 30_000, startMs, startMs + 59_999].map(stepAt)).toEqual([step, step, step])
  expect([startMs - 30_001, startMs + 60_000].map(stepAt)).toEqual([null, null])
})

test.each(['279038', '27903', '2790370', ''])('“%s” is not a code', (code) => {
  expect(stepOfCode({ secret: RFC_SECRET, code, nowMs: 2_000_000_000_000 })).toBeNull()
})

test("each secret is new, and its address for an app names the user's email", () => {
  const secrets = Array.from({ length: 100 }, makeAppSecret)
  expect(new Set(secrets).size).toBe(100)
  for (const secret of secrets) expect(secret).toMatch(APP_SECRET)
  const url = new URL(appUrl({ secret: RFC_SECRET, email: 'ada+1@example.org' }))
  expect([url.protocol, url.host, decodeURIComponent(url.pathname)]).toEqual([
    'otpauth:',
    'totp',
    '/tollgate:ada+1@example.org',
  ])
  expect(Object.fromEntries(url.searchParams)).toEqual({
    issuer: 'tollgate',
    secret: RFC_SECRET,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test('codes equal those of the otpauth library for every secret and second, and otpauth reads the scanned address', () => {
  for (let seconds = 59; seconds < 4e9; seconds = seconds * 2 + 17) {
    const secret = makeAppSecret()
    const totp = new TOTP({ secret: Secret.fromBase32(secret) })
    const code = totp.generate({ timestamp: seconds * 1_000 })
    expect(stepOfCode({ secret, code, nowMs: seconds * 1_000 })).toBe(Math.floor(seconds / 30))
    const read = URI.parse(appUrl({ secret, email: 'ada b+1@example.org' }))
    expect([read.issuer, read.label, read.secret.base32]).toEqual([
      'tollgate',
      'ada b+1@example.org',
      secret,
    ])
  }
})
