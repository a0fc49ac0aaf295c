import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The name that apps show with their codes. */
const ISSUER = 'tollgate'
const SECRET_BYTES = 20
/** Codes of the periods before and after now are right too: clocks of phones disagree. The nearest comes first. */
const PERIODS_AWAY = [0, -1, 1]
const PERIOD_SECONDS = 30
const DIGITS = 6
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A new secret for an authenticator app: 20 random bytes in base32, 32 characters. */
export function makeAppSecret(): string {
  const bits = [...randomBytes(SECRET_BYTES)].map((byte) => byte.toString(2).padStart(8, '0'))
  const letters = bits.join('').match(/.{5}/g) ?? []
  return letters.map((five) => BASE32[Number.parseInt(five, 2)]).join('')
}

/** Whether a text can be the secret of an app: as {@link makeAppSecret} makes them. */
export const APP_SECRET = /^[A-Z2-7]{32}$/

/** The address that an app reads as a QR code (`otpauth://totp/…`). */
export function appUrl({ secret, email }: { readonly secret: string; readonly email: string }) {
  const label = [ISSUER, email].map(encodeURIComponent).join(':')
  const parameters = {
    issuer: ISSUER,
    secret,
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
  }
  const fields = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
  return `otpauth://totp/${label}?${fields.join('&')}`
}

/**
 * The period of 30 seconds, counted from the Unix epoch, that a code of six digits is of (RFC 6238, with SHA-1 as
 * all apps have it); null: it is of none near now.
 */
export function stepOfCode({
  secret,
  code,
  nowMs,
}: {
  readonly secret: string
  readonly code: string
  readonly nowMs: number
}): number | null {
  const sent = Buffer.from(code)
  const step = Math.floor(nowMs / 1_000 / PERIOD_SECONDS)
  const right = PERIODS_AWAY.map((away) => step + away).filter((each) => {
    const expected = Buffer.from(codeOfStep(secret, each))
    return expected.length === sent.length && timingSafeEqual(expected, sent)
  })
  return right[0] ?? null
}

/** The code of a period: the dynamic truncation of RFC 4226, of its number under the secret. */
function codeOfStep(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', bytesOf(secret)).update(counter).digest()
  const at = (hash.at(-1) ?? 0) & 0xf
  const number = hash.readUInt32BE(at) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The bytes of a text in base32, whose length is a multiple of eight. */
function bytesOf(base32: string): Buffer {
  const bits = [...base32].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0'))
  const bytes = bits.join('').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((eight) => Number.parseInt(eight, 2)))
}
