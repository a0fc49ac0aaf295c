import { asBrowser } from '../api/calls.ts'

/** Whether this browser has passkeys. */
export function hasPasskeys(): boolean {
  return 'PublicKeyCredential' in window
}

// None is asked for.
const NO_EXTENSIONS = { clientExtensionResults: {} }

/** Lets the browser make a passkey. Throws ApiError, and Error with a message for the user. */
export async function makePasskey() {
  const { options } = await asBrowser('beginPasskey', {})
  const { startRegistration } = await import('@simplewebauthn/browser').catch(explainMissing)
  const made = await startRegistration({ optionsJSON: options }).catch(explain)
  return { ...made, ...NO_EXTENSIONS }
}

/** Lets one of the user's passkeys sign. Throws ApiError, and Error with a message for the user. */
export async function signByPasskey() {
  const { options } = await asBrowser('challengePasskey', {})
  const { startAuthentication } = await import('@simplewebauthn/browser').catch(explainMissing)
  const signed = await startAuthentication({ optionsJSON: options }).catch(explain)
  return { ...signed, ...NO_EXTENSIONS }
}

/** The server is away, or serves a newer page. */
function explainMissing(cause: unknown): never {
  const message = 'This part of the page could not be loaded. Reload the page, then try again.'
  throw new Error(message, { cause })
}

/** Browsers name what went wrong, and say nothing that a user could do. */
function explain(cause: unknown): never {
  throw new Error(messageOf(cause instanceof Error ? cause.name : ''), { cause })
}

function messageOf(name: string): string {
  switch (name) {
    case 'InvalidStateError':
      return 'This device already has one of your passkeys.'
    case 'NotAllowedError':
    case 'AbortError':
      return 'The browser used no passkey: you cancelled, or it waited too long. Try again.'
    case 'SecurityError':
      return 'The browser has no passkeys for this address.'
    default:
      return 'The browser could not use a passkey. Try again, or use a code.'
  }
}
