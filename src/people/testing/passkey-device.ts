import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { NewPasskeyAnswer, PasskeyAnswer } from '../factors/passkeys.ts'

/** The fields that a device reads of the gateway's question to a browser. */
export interface AskedOptions {
  readonly challenge: string
  readonly rp?: { readonly id?: string }
  readonly rpId?: string
  readonly allowCredentials?: readonly { readonly id: string }[]
  readonly excludeCredentials?: readonly { readonly id: string }[]
}

interface DeviceInput {
  /** The address of the page that the browser shows. */
  readonly origin: string
  /** Whether it counts its signatures. Default: true. */
  readonly counts?: boolean
  /** Its attestation of its maker. Default: none. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: Map<string, unknown> }
}

const USER_PRESENT = 0x01
const HAS_CREDENTIAL = 0x40

/** A browser and the device behind it that makes passkeys and signs with them (WebAuthn level 3, section 6.1). */
export class PasskeyDevice {
  readonly #input: DeviceInput
  readonly #keys = new Map<string, KeyObject>()
  signatures = 0

  constructor(input: DeviceInput) {
    this.#input = input
  }

  /** Makes a passkey. */
  make({ challenge, rp }: AskedOptions): NewPasskeyAnswer {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const id = randomBytes(32)
    this.#keys.set(id.toString('base64url'), privateKey)
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    // kty EC2, alg ES256, crv P-256 (RFC 9053).
    const coseKey = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytesOf(x)],
      [-3, bytesOf(y)],
    ])
    const credential = Buffer.concat([
      Buffer.alloc(16),
      uint16(id.length),
      id,
      Buffer.from(isoCBOR.encode(coseKey)),
    ])
    const authData = this.#authenticatorData(rp?.id ?? '', { credential })
    const { fmt, attStmt } = this.#input.attestation ?? { fmt: 'none', attStmt: new Map() }
    const attestation = new Map<string, unknown>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', new Uint8Array(authData)],
    ])
    return {
      ...this.#credential(id.toString('base64url')),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', challenge).toString('base64url'),
        attestationObject: Buffer.from(isoCBOR.encode(Object(attestation))).toString('base64url'),
        transports: ['internal', 'hybrid'],
        // Browsers also send this, which is not used.
        publicKeyAlgorithm: -7,
      },
    }
  }

  /** Signs with the first of its passkeys that is allowed. */
  sign({ challenge, rpId = '', allowCredentials = [] }: AskedOptions): PasskeyAnswer {
    const id = allowCredentials.map((one) => one.id).find((one) => this.#keys.has(one))
    const key = this.#keys.get(id ?? '')
    if (id === undefined || key === undefined)
      throw new Error('no passkey of this device is allowed')
    if (this.#input.counts !== false) this.signatures += 1
    const authData = this.#authenticatorData(rpId, { credential: null })
    const clientData = this.#clientData('webauthn.get', challenge)
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), key)
    return {
      ...this.#credential(id),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    }
  }

  #credential(id: string) {
    return {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: { credProps: { rk: true } },
    }
  }

  #clientData(type: string, challenge: string): Buffer {
    const { origin } = this.#input
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  }

  #authenticatorData(rpId: string, { credential }: { readonly credential: Buffer | null }): Buffer {
    const flags = USER_PRESENT | (credential === null ? 0 : HAS_CREDENTIAL)
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.signatures)
    return Buffer.concat([
      sha256(Buffer.from(rpId)),
      Buffer.from([flags]),
      counter,
      credential ?? Buffer.alloc(0),
    ])
  }
}

function bytesOf(base64url: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64url, 'base64url'))
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
