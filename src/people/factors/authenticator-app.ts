import { Secret, TOTP } from 'otpauth'

/** What apps show beside their codes. */
const ISSUER = 'tollgate'
const SECRET_BYTES = 20
/** Codes of this many periods before and after now are right too: clocks of phones disagree. */
const WINDOW = 1
const PERIOD_SECONDS = 30

/** A new secret for an authenticator app: 20 random bytes in base32, 32 characters. */
export function makeAppSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** Whether a text can be the secret of an app: as {@link makeAppSecret} makes them. */
export const APP_SECRET = /^[A-Z2-7]{32}$/

/** What an app reads as a QR code (`otpauth://totp/…`). */
export function appUrl({ secret, email }: { readonly secret: string; readonly email: string }) {
  return totpOf(secret, email).toString()
}

/**
 * The period of 30 seconds, counted from the Unix epoch, that a code of six digits is of (RFC 6238, with SHA-1 as all apps have
 * it); null: it is of none near now.
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
  const away = totpOf(secret).validate({ token: code, timestamp: nowMs, window: WINDOW })
  return away === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + away
}

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({
    issuer: ISSUER,
    label,
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_SECONDS,
  })
}
