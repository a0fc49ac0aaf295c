/**
 * Every refusal and failure that a client can see, in one table. A problem has two audiences: its
 * public message goes to the client, its cause to the log; nothing else ever leaves.
 */

/** Who must act for the same request to succeed. */
export type ProblemOwner = 'client' | 'billing' | 'upstream' | 'platform'

/** What one problem is, whoever meets it. */
export interface ProblemRow {
  readonly httpStatus: number
  readonly owner: ProblemOwner
  /** Whether the same request, unchanged, may succeed later. */
  readonly retryable: boolean
  /** What the client is told unless the place that throws knows better. */
  readonly message: string
}

// biome-ignore lint/complexity/useMaxParams: each row below reads as one line of a table.
const row = (
  httpStatus: number,
  owner: ProblemOwner,
  retry: 'retry' | 'do not retry',
  message: string,
): ProblemRow => ({ httpStatus, owner, retryable: retry === 'retry', message })

/** The table: every code that a client can see. `docs/errors.md` is its twin. */
export const PROBLEMS = {
  // The request itself.
  invalid_json: row(400, 'client', 'do not retry', 'The body is not a valid JSON object.'),
  missing_model: row(
    400,
    'client',
    'do not retry',
    'Set `model` to a model id of the form <author>/<name>.',
  ),
  missing_prompt: row(400, 'client', 'do not retry', 'Set `prompt` to a string or an array.'),
  invalid_parameter: row(
    400,
    'client',
    'do not retry',
    'A parameter has a value that cannot be used.',
  ),
  output_cap_required: row(
    400,
    'client',
    'do not retry',
    'This model lists no maximum output: send an output cap.',
  ),
  unsupported_parameter: row(400, 'client', 'do not retry', 'A parameter is not supported.'),
  unsupported_model: row(
    400,
    'client',
    'do not retry',
    'This model cannot be used on this endpoint.',
  ),
  bad_request: row(400, 'client', 'do not retry', 'The request is not valid HTTP.'),
  missing_api_key: row(
    401,
    'client',
    'do not retry',
    'Send an API key as `Authorization: Bearer <key>` or as `x-api-key: <key>`.',
  ),
  invalid_api_key: row(401, 'client', 'do not retry', 'This API key is not recognized.'),
  api_key_disabled: row(401, 'client', 'do not retry', 'This API key is disabled.'),
  api_key_expired: row(401, 'client', 'do not retry', 'This API key has expired.'),
  invalid_admin_token: row(
    401,
    'client',
    'do not retry',
    'Send the admin token as `Authorization: Bearer <token>`.',
  ),
  invalid_metrics_token: row(
    401,
    'client',
    'do not retry',
    'Send the metrics token as `Authorization: Bearer <token>`.',
  ),
  insufficient_credit: row(
    402,
    'billing',
    'do not retry',
    'The account has too little credit for this request.',
  ),
  key_limit_reached: row(
    402,
    'billing',
    'do not retry',
    'This API key has too little of its credit limit left.',
  ),
  free_credit_not_eligible: row(
    402,
    'billing',
    'do not retry',
    'The account has only free credit, which does not pay for this request.',
  ),
  model_not_found: row(
    404,
    'client',
    'do not retry',
    'This model is not in the catalog; GET /v1/models lists what is.',
  ),
  not_found: row(
    404,
    'client',
    'do not retry',
    'This method and path do not exist; /docs lists what there is.',
  ),
  reference_conflict: row(
    409,
    'client',
    'do not retry',
    'This reference was used for other credit of the account before.',
  ),
  request_not_settleable: row(
    409,
    'client',
    'do not retry',
    'Only a request that is unresolved or provisional can be settled.',
  ),
  unknown_credit_code: row(
    404,
    'client',
    'do not retry',
    'No such credit code. Check it for mistyped characters.',
  ),
  credit_code_redeemed: row(
    409,
    'client',
    'do not retry',
    'Another account has redeemed this credit code.',
  ),
  credit_code_expired: row(
    409,
    'client',
    'do not retry',
    'This credit code has expired or was revoked.',
  ),
  request_timeout: row(408, 'client', 'retry', 'The request body did not arrive in time.'),
  endpoint_retired: row(410, 'client', 'do not retry', 'This endpoint is retired.'),
  request_too_large: row(413, 'client', 'do not retry', 'The request body is too large.'),
  headers_too_large: row(431, 'client', 'do not retry', 'The request headers are too large.'),
  rate_limited: row(429, 'client', 'retry', 'Too many requests in a minute.'),
  too_many_concurrent_requests: row(
    429,
    'client',
    'retry',
    'This API key has too many requests in flight.',
  ),

  // What the provider said of the request, in our words.
  context_length_exceeded: row(
    400,
    'client',
    'do not retry',
    'prompt is too long: it does not fit the context window of this model. Shorten the input or lower the output cap.',
  ),
  content_policy_violation: row(
    400,
    'client',
    'do not retry',
    'The provider refused the content under its policy. Change the input.',
  ),
  provider_rejected_request: row(
    400,
    'client',
    'do not retry',
    'The provider refused the request.',
  ),
  provider_forbidden: row(
    403,
    'client',
    'do not retry',
    'The provider does not allow this request.',
  ),
  provider_not_found: row(
    404,
    'client',
    'do not retry',
    'The provider does not offer this model for this request.',
  ),
  provider_request_timeout: row(408, 'upstream', 'retry', 'The provider gave up on the request.'),
  provider_conflict: row(409, 'upstream', 'retry', 'The provider reported a conflict.'),
  provider_request_too_large: row(
    413,
    'client',
    'do not retry',
    'The request is too large for the provider.',
  ),
  provider_unprocessable: row(
    422,
    'client',
    'do not retry',
    'The provider could not process the request.',
  ),
  provider_rate_limited: row(
    429,
    'upstream',
    'retry',
    'The provider is limiting requests to this model.',
  ),

  // Ours, or the way to the provider.
  internal_error: row(500, 'platform', 'retry', 'The gateway failed on this request.'),
  upstream_error: row(502, 'upstream', 'retry', 'The provider failed on this request.'),
  service_unavailable: row(503, 'platform', 'retry', 'Inference is temporarily unavailable.'),
  model_prices_stale: row(
    503,
    'platform',
    'retry',
    'The prices of this model have not been refreshed for over an hour, so it cannot be priced.',
  ),
  upstream_timeout: row(
    504,
    'upstream',
    'retry',
    'The provider did not answer before the deadline.',
  ),
} as const satisfies Record<string, ProblemRow>

/** A stable, documented code: what a client matches on. */
export type ProblemCode = keyof typeof PROBLEMS

export interface ProblemInput {
  /** What to tell the client instead of the table's message. Never text of a provider's, never a key. */
  readonly message?: string
  /** The field at fault, as a path into the body: `tools[0].type`. */
  readonly param?: string
  readonly retryAfterSeconds?: number
  /** Another status than the table's: a provider's refusal keeps the status that it came with. */
  readonly httpStatus?: number
  /** For the log alone. */
  readonly cause?: unknown
  /**
   * The `error.type` of a messages error that the provider gave and that is one of the format's own;
   * kept on messages, unused elsewhere.
   */
  readonly messagesType?: string
}

/** A failure with a public face. Thrown anywhere on a request's journey, answered in one place. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly param: string | null
  readonly retryAfterSeconds: number | null
  readonly messagesType: string | null
  readonly httpStatus: number

  constructor(code: ProblemCode, input: ProblemInput = {}) {
    super(input.message ?? PROBLEMS[code].message, { cause: input.cause })
    this.code = code
    this.param = input.param ?? null
    this.retryAfterSeconds = input.retryAfterSeconds ?? null
    this.messagesType = input.messagesType ?? null
    this.httpStatus = input.httpStatus ?? PROBLEMS[code].httpStatus
  }
}
