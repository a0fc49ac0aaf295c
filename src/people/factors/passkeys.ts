import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { PasskeyRow, UserRow } from '../../store/people-tables.ts'

/** The page at one host name, where passkeys are made and used. */
export interface PasskeySite {
  /** The origin, as browsers send it. */
  readonly origin: string
  readonly host: string
}

/** The answer of a browser that made a passkey. */
export type NewPasskeyAnswer = RegistrationResponseJSON

/** The answer of a browser whose passkey has signed. */
export type PasskeyAnswer = AuthenticationResponseJSON

/** The options by which browsers make a passkey. */
export type NewPasskeyOptions = PublicKeyCredentialCreationOptionsJSON

/** The options by which browsers let a passkey sign. */
export type PasskeyOptions = PublicKeyCredentialRequestOptionsJSON

/** The fields that identify a passkey. */
type Passkey = Pick<PasskeyRow, 'credentialId' | 'publicKey' | 'transports' | 'signatures'>

/** The name that browsers show with the user's name. */
const ISSUER = 'tollgate'

/** How browsers reach a device, as they may say it: WebAuthn adds words to these. */
const TRANSPORT = /^[a-z][a-z-]{0,19}$/
const TRANSPORTS_MAX = 8

// Ed25519, ES256 and RS256 of COSE, which all devices have one of. Without the list the library asks Node for
// ML-DSA, which prints a warning to the terminal.
const ALGORITHMS = [-8, -7, -257]

// The password came before, so that a touch is enough: a PIN would be asked for on top of it.
const USER_VERIFICATION = 'discouraged'

/** Null: browsers have no passkeys for a page at an IP address (WebAuthn section 5.1.3, step 7). */
export function passkeySite(origin: string): PasskeySite | null {
  const { hostname: host } = new URL(origin)
  return host.startsWith('[') || isIP(host) !== 0 ? null : { origin, host }
}

/** The options for a new passkey, on a device that has none of the user's. */
export async function newPasskeyOptions(
  { host }: PasskeySite,
  { user, known }: { readonly user: UserRow; readonly known: readonly Passkey[] },
): Promise<NewPasskeyOptions> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: ISSUER,
    rpID: host,
    userID: new TextEncoder().encode(user.id),
    userName: user.email,
    userDisplayName: user.name,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(descriptionOf),
    authenticatorSelection: { residentKey: 'preferred', userVerification: USER_VERIFICATION },
  })
}

/** The options for a signature by one of the user's passkeys. */
export async function passkeyOptions(
  { host }: PasskeySite,
  known: readonly Passkey[],
): Promise<PasskeyOptions> {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: host,
    allowCredentials: known.map(descriptionOf),
    userVerification: USER_VERIFICATION,
  })
}

/** A browser's answer to a challenge. */
interface Answered<Answer> {
  readonly challenge: string
  readonly answer: Answer
}

/** Reads a passkey that a browser has made. Null: it is not one, or was not made here for this challenge. */
export async function readNewPasskey(
  { origin, host }: PasskeySite,
  { challenge, answer }: Answered<NewPasskeyAnswer>,
): Promise<Passkey | null> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  try {
    const { attestationObject } = answer.response
    const stated = decodeAttestationObject(Buffer.from(attestationObject, 'base64url'))
    // A browser that was asked for none sends no certificates. The library would look up those that a caller sends at
    // addresses that they name (SimpleWebAuthn issue 804).
    const isPlain = ['none', 'packed'].includes(stated.get('fmt'))
    if (!isPlain || stated.get('attStmt').get('x5c') !== undefined) return null
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: answer,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (!verified) return null
    const { id, publicKey, counter } = registrationInfo.credential
    const { transports = [] } = answer.response
    return {
      credentialId: id,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      transports: transports.filter((one) => TRANSPORT.test(one)).slice(0, TRANSPORTS_MAX),
      signatures: counter,
    }
  } catch {
    // The library throws for all that is wrong with an answer.
    return null
  }
}

/**
 * Checks the signature of a passkey. Returns how many signatures its device counts. Null: the signature is not of
 * this passkey, not of this challenge and this page, or of a copy of its device.
 */
export async function readSignature(
  { origin, host }: PasskeySite,
  { challenge, answer, passkey }: Answered<PasskeyAnswer> & { readonly passkey: Passkey },
): Promise<number | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const { credentialId, publicKey, signatures } = passkey
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: answer,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: false,
      credential: {
        id: credentialId,
        publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
        counter: signatures,
      },
    })
    return verified ? authenticationInfo.newCounter : null
  } catch {
    return null
  }
}

function descriptionOf({ credentialId, transports }: Passkey) {
  return { id: credentialId, transports: [...transports] }
}
