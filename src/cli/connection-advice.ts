import { messageOf } from '../vocabulary/message-of.ts'

/** Advice about a failed connection to a provider, which follows its failure, by the code of Node's or OpenSSL's error. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [
    /^CERT_NOT_YET_VALID$/,
    'check the clock of this machine (`date`), by which the certificate begins in the future',
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    'check the clock of this machine (`date`); if it is right, the owner of the address must renew the certificate',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?)$/,
    'set NODE_EXTRA_CA_CERTS to the certificates of the authority that signed it (docs/config.md)',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the certificate belongs to another address: correct the address in the settings',
  ],
  [
    /^(EPROTO|ERR_SSL_.*)$/,
    'the server there does not speak TLS: check whether the address begins with http or https',
  ],
]

/** Advice about a connection that failed, without the failure itself; null: there is none but to check the address. */
export function connectionAdvice(cause: unknown): string | null {
  for (let error = cause; error instanceof Error; error = error.cause) {
    const code = 'code' in error ? String(error.code) : ''
    const found = ADVICE.find(([codes]) => codes.test(code))
    if (found !== undefined) return found[1]
  }
  return null
}

/** The failure of an upstream in one line: of OpenSSL's text, which names files of its source, only the reason. */
export function failureText(cause: unknown): string {
  const message = messageOf(cause)
  const [, reason] = /:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):/.exec(message) ?? []
  return reason ?? message
}
