import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { write } from '../api/client.ts'

/** Whether this browser has passkeys. */
export function hasPasskeys(): boolean {
  return 'PublicKeyCredential' in window
}

/** Lets the browser make a passkey. Throws ApiError, and Error with what to tell the user. */
export async function makePasskey(): Promise<object> {
  const { options } = await write<{ options: PublicKeyCredentialCreationOptionsJSON }>(
    'POST',
    'auth/factors/passkey/begin',
  )
  const { startRegistration } = await import('@simplewebauthn/browser')
  return startRegistration({ optionsJSON: options }).catch(explain)
}

/** Lets one of the user's passkeys sign. Throws ApiError, and Error with what to tell the user. */
export async function signByPasskey(): Promise<object> {
  const { options } = await write<{ options: PublicKeyCredentialRequestOptionsJSON }>(
    'POST',
    'auth/factor/challenge',
  )
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return startAuthentication({ optionsJSON: options }).catch(explain)
}

/** Browsers name what went wrong, and say nothing that a user could do. */
function explain(cause: unknown): never {
  throw new Error(messageOf(cause instanceof Error ? cause.name : ''), { cause })
}

function messageOf(name: string): string {
  switch (name) {
    case 'InvalidStateError':
      return 'This device already has a passkey of yours.'
    case 'NotAllowedError':
    case 'AbortError':
      return 'The browser used no passkey: you cancelled, or it waited too long. Try again.'
    case 'SecurityError':
      return 'The browser has no passkeys at this address of the page.'
    default:
      return 'The browser could not use a passkey. Try again, or use a code.'
  }
}
