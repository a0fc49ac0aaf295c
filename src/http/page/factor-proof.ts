import { z } from 'zod'
import { type PasskeySite, passkeySite } from '../../people/factors/passkeys.ts'
import type { FactorProof } from '../../people/factors/second-factors.ts'
import type { Arrival } from '../../vocabulary/call.ts'
import { TEXT_CHARS_MAX } from '../../vocabulary/text-chars.ts'
import type { PageSite } from './page-site.ts'

/** A code of an authenticator app, or a recovery code, as typed. */
export const codeField = z.string().max(TEXT_CHARS_MAX.factorCode, 'is too long')

// Certificates of a device are long, and are not asked for.
const bytesField = z.base64url('is not base64url').max(8_000, 'is too long')
const idField = z.base64url('is not base64url').min(1, 'is required').max(1_400, 'is too long')
const attachmentField = z.enum(['cross-platform', 'platform'])

/** The fields of `PublicKeyCredential.toJSON()` for every passkey (WebAuthn section 5.1). */
const passkeyFields = {
  id: idField,
  rawId: idField,
  type: z.literal('public-key'),
  authenticatorAttachment: attachmentField.exactOptional(),
  // No extension is asked for.
  clientExtensionResults: z.looseObject({}).transform(() => ({})),
}

/** A passkey that a browser has made; further fields of browsers are left out. */
export const newPasskeyField = z.object({
  ...passkeyFields,
  response: z.object({
    clientDataJSON: bytesField,
    attestationObject: bytesField,
    transports: z.array(z.string().max(40)).max(20).exactOptional(),
  }),
})

/** A signature by a passkey. */
const passkeyField = z.object({
  ...passkeyFields,
  response: z.object({
    clientDataJSON: bytesField,
    authenticatorData: bytesField,
    signature: bytesField,
    userHandle: z.base64url('is not base64url').max(100).exactOptional(),
  }),
})

/** The fields of a second factor in a body: one of the two. */
export const proofFields = {
  code: codeField.optional(),
  passkey: passkeyField.optional(),
}

/** The second factor in a body. Without one, it is an empty code. */
export function proofOf(
  site: PageSite,
  arrival: Arrival,
  {
    code = '',
    passkey,
  }: {
    readonly code?: string | undefined
    readonly passkey?: z.output<typeof passkeyField> | undefined
  },
): FactorProof {
  return passkey === undefined
    ? { kind: 'code', code }
    : { kind: 'passkey', site: passkeySiteOf(site, arrival), answer: passkey }
}

/** Null: the page is at an address that has no passkeys. */
export function passkeySiteOf(site: PageSite, arrival: Arrival): PasskeySite | null {
  const origin = site.originOf(arrival)
  return origin === null ? null : passkeySite(origin)
}
