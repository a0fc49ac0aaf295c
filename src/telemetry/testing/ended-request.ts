import { chat } from '../../formats/chat.ts'
import type { EndedRequest } from '../../http/inference.ts'
import { usageOf } from '../../vocabulary/testing/token-usage.ts'

const USAGE = usageOf('10 in, 20 read, 30 written, 5 written long, 40 out, 15 reasoning')

/** A request that has ended, whole and charged unless these say otherwise. By position: of its record, and of the rest. */
export function ended(
  record: Partial<EndedRequest['record']>,
  input: Partial<EndedRequest> = {},
): EndedRequest {
  return {
    requestId: 'req_1',
    format: chat,
    problem: null,
    httpStatus: 200,
    startedAtMs: 1_000,
    endedAtMs: 3_000,
    traceparent: undefined,
    ...input,
    record: {
      accountId: 'acct_1',
      apiKeyId: 'key_1',
      modelId: 'acme/kept',
      upstream: 'router',
      stream: false,
      rateLimits: null,
      holdMicros: 100,
      state: 'final',
      chargeMicros: 60,
      holdAskedAtMs: 1_000,
      holdOpenedAtMs: 1_001,
      firstByteAtMs: 1_500,
      outcomeAtMs: 2_900,
      settledAtMs: 2_950,
      usage: USAGE,
      generationId: 'gen-1',
      isUncounted: false,
      leftEarly: null,
      errorCode: null,
      fault: null,
      ...record,
    },
  }
}
