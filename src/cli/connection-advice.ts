import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
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

/** Advice about an upstream that failed, to follow its failure; empty: there is none. By position: its settings, and why. */
export function upstreamAdvice(
  { baseUrl, apiKeyVariable }: Pick<UpstreamSettings, 'baseUrl' | 'apiKeyVariable'>,
  cause: unknown,
): string {
  // Known by their names: the classes would load the code that talks to providers.
  const name = cause instanceof Error ? cause.name : ''
  if (name === 'NoModelOffered') return ''
  if (name !== 'UpstreamRefusesAccount') {
    const advice = connectionAdvice(cause)
    return advice === null
      ? `: check its address ${baseUrl} and the network on the way to it`
      : `: ${advice}`
  }
  const isCredit = cause instanceof Error && 'refusedFor' in cause && cause.refusedFor === 'credit'
  if (isCredit) return ': add credit there'
  return apiKeyVariable === null ? ': set its api_key' : `: check its key in ${apiKeyVariable}`
}

/** The failure of an upstream in one line: of OpenSSL's text, which names files of its source, only the reason. */
export function failureText(cause: unknown): string {
  const message = messageOf(cause)
  const [, reason] = /:error:[\dA-F]+:[^:]*:[^:]*:([^:]+):/.exec(message) ?? []
  return reason ?? message
}
