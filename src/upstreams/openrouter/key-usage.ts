import { parseAnswer } from '../../json/body.ts'
import { addDecimals } from '../../vocabulary/money.ts'
import { decimalAt } from '../json-reading.ts'
import { type KeyUsageAnswer, type Upstream, UpstreamRefusesAccount } from '../upstream.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 1024 * 1024

const REFUSALS: Readonly<Record<number, string>> = {
  401: 'it does not know the API key',
  402: "the provider's account has no credit left",
  403: 'the provider does not allow this key',
}

const NO_FIGURE: KeyUsageAnswer = { kind: 'noFigure' }

/**
 * Reads what our key has used since it was made, also by the account's own keys at providers, and what is left of its
 * limit. Never rejects.
 */
export async function fetchKeyUsage(upstream: Upstream): Promise<KeyUsageAnswer> {
  try {
    const { httpStatus, bytes } = await upstream.getBytes('/key', {
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    if (httpStatus === 404 || httpStatus === 405 || httpStatus === 501) return NO_FIGURE
    // A public list of models does not show whether a key is valid.
    const refusal = REFUSALS[httpStatus]
    if (refusal !== undefined) {
      const cause = new UpstreamRefusesAccount(`the upstream answers ${httpStatus}: ${refusal}`)
      return { kind: 'refused', cause }
    }
    const body = httpStatus === 200 ? parseAnswer(bytes) : null
    if (body === null) {
      const cause = new Error(`the upstream answers ${httpStatus} to a question about its key`)
      return { kind: 'unavailable', cause }
    }
    const usageUsd = decimalAt(body, ['data', 'usage'])
    if (usageUsd === null) return NO_FIGURE
    const byokUsd = decimalAt(body, ['data', 'byok_usage'])
    return {
      kind: 'found',
      usageUsd: byokUsd === null ? usageUsd : addDecimals(usageUsd, byokUsd),
      leftUsd: decimalAt(body, ['data', 'limit_remaining']),
    }
  } catch (cause) {
    return { kind: 'unavailable', cause }
  }
}
