/**
 * Every refusal and failure that a client can see, in one table. A problem has two audiences: its
 * public message goes to the client, its cause to the log; nothing else ever leaves.
 */

/** Who must act for the same request to succeed. */
export type ProblemOwner = 'client' | 'billing' | 'upstream' | 'platform'

/** What one problem is. Backticks in `meaning` and `remedy` mark code. */
export interface ProblemRow {
  readonly httpStatus: number
  readonly owner: ProblemOwner
  /** Whether the same request, unchanged, may succeed later. */
  readonly retryable: boolean
  /** The message of the answer, unless the place that throws gives a better one. */
  readonly message: string
  readonly meaning: string
  /** What to do about it. */
  readonly remedy: string
}

type ProblemTexts = Pick<ProblemRow, 'message' | 'meaning' | 'remedy'>

// biome-ignore lint/complexity/useMaxParams: each row below reads as one line of a table.
const row = (
  httpStatus: number,
  owner: ProblemOwner,
  retry: 'retry' | 'final',
  texts: ProblemTexts,
): ProblemRow => ({ httpStatus, owner, retryable: retry === 'retry', ...texts })

// biome-ignore format: one problem is one line.
/**
 * The table: every code that a client can see. `npm run docs` writes it to `docs/errors.md`, and `/docs`
 * shows it.
 */
export const PROBLEMS = {
  // The request itself.
  invalid_json: row(400, 'client', 'final', { message: 'The body is not a valid JSON object.', meaning: 'The body is not UTF-8, not a JSON object, gives a field twice where it matters, is nested deeper than 512 levels, or has more values than the gateway reads: some 800,000 objects or strings, or 4,000,000 numbers.', remedy: 'Send one JSON object.' }),
  missing_model: row(400, 'client', 'final', { message: 'Set `model` to a model id of the form <author>/<name>.', meaning: '`model` is absent, null or empty.', remedy: 'Set it to an id of `GET /v1/models`.' }),
  missing_prompt: row(400, 'client', 'final', { message: 'Set `prompt` to a string or an array.', meaning: 'Completions: `prompt` is absent.', remedy: 'Set it to a string or an array.' }),
  invalid_parameter: row(400, 'client', 'final', { message: 'A parameter has a value that cannot be used.', meaning: 'The field in `param` has a type or value that cannot be used, or a name in the wrong case.', remedy: 'Correct that field.' }),
  output_cap_required: row(400, 'client', 'final', { message: 'This model lists no maximum output: send an output cap.', meaning: 'The model lists no maximum output, so that no hold can be sized.', remedy: 'Send an output cap.' }),
  unsupported_parameter: row(400, 'client', 'final', { message: 'A parameter is not supported.', meaning: 'The field in `param` asks for what this service does not do.', remedy: 'Leave it out.' }),
  unsupported_model: row(400, 'client', 'final', { message: 'This model cannot be used on this endpoint.', meaning: 'The model cannot be used on this endpoint, or bills per search.', remedy: 'Use the endpoint that the message names, or another model.' }),
  bad_request: row(400, 'client', 'final', { message: 'The request is not valid HTTP.', meaning: 'The bytes are not valid HTTP, the body broke off, or it is not coded as its `content-encoding` says.', remedy: 'Look at the client, or at what is between.' }),
  missing_api_key: row(401, 'client', 'final', { message: 'Send an API key as `Authorization: Bearer <key>` or as `x-api-key: <key>`.', meaning: 'The request carries no key.', remedy: 'Send it as `Authorization: Bearer` or `x-api-key`.' }),
  invalid_api_key: row(401, 'client', 'final', { message: 'This API key is not recognized.', meaning: 'No such key.', remedy: 'Check it for missing characters, or make a new one.' }),
  api_key_disabled: row(401, 'client', 'final', { message: 'This API key is disabled.', meaning: 'The key, or its account, is disabled.', remedy: 'Use another, or have it enabled.' }),
  api_key_expired: row(401, 'client', 'final', { message: 'This API key has expired.', meaning: 'The key is past its expiry.', remedy: 'Use another, or have its expiry moved.' }),
  invalid_admin_token: row(401, 'client', 'final', { message: 'Send the admin token as `Authorization: Bearer <token>`.', meaning: 'The request to `/v1/admin` has no admin token, or another one.', remedy: 'Send `ADMIN_API_TOKEN` as `Authorization: Bearer`.' }),
  invalid_metrics_token: row(401, 'client', 'final', { message: 'Send the metrics token as `Authorization: Bearer <token>`.', meaning: 'The request to `/metrics` has no metrics token, or another one.', remedy: 'Send `METRICS_TOKEN` as `Authorization: Bearer`.' }),
  insufficient_credit: row(402, 'billing', 'final', { message: 'The account has too little credit for this request.', meaning: "The account has less available than the request's hold. The message says what was needed, what is available, and what requests in flight hold. Where the output cap is above the maximum that the model lists, it also says what a cap of that maximum would need. Where the account has no credit at all, a body over 64 KB is answered so before it is read.", remedy: 'Add credit, lower the output cap, or wait for what is in flight.' }),
  key_limit_reached: row(402, 'billing', 'final', { message: 'This API key has too little of its credit limit left.', meaning: 'The key has less left of its credit limit than the hold.', remedy: 'Raise its limit, or use another key.' }),
  free_credit_not_eligible: row(402, 'billing', 'final', { message: 'The account has only free credit, which does not pay for this request.', meaning: 'The account has only free credit, which does not pay for this request.', remedy: 'Add backed credit, or use a text model with open weights.' }),
  model_not_found: row(404, 'client', 'final', { message: 'This model is not in the catalog; GET /v1/models lists what is.', meaning: 'The catalog has no such model.', remedy: 'Pick an id of `GET /v1/models`.' }),
  not_found: row(404, 'client', 'final', { message: 'This method and path do not exist; /docs lists what there is.', meaning: 'This method and path do not exist; the message names them.', remedy: 'Look at the base address: one `/v1`, no more; and at the method.' }),
  reference_conflict: row(409, 'client', 'final', { message: 'This reference was used for other credit of the account before.', meaning: "The reference was used for another amount, kind or expiry of the account's credit.", remedy: "Look at the account's entries; use a new reference for new credit." }),
  request_not_settleable: row(409, 'client', 'final', { message: 'Only a request that is unresolved or provisional can be settled.', meaning: 'The request is still running, or was settled before.', remedy: 'Look at its state.' }),
  unknown_credit_code: row(404, 'client', 'final', { message: 'No such credit code. Check it for mistyped characters.', meaning: 'Nothing was ever made with this code.', remedy: 'Check it for wrong characters.' }),
  credit_code_redeemed: row(409, 'client', 'final', { message: 'Another account has redeemed this credit code.', meaning: 'Another account has the credit of this code.', remedy: 'Use another code.' }),
  credit_code_expired: row(409, 'client', 'final', { message: 'This credit code has expired or was revoked.', meaning: 'The code is past its expiry, or was revoked.', remedy: 'Ask for another code.' }),
  request_timeout: row(408, 'client', 'retry', { message: 'The request body did not arrive in time.', meaning: 'The body did not arrive in time, or came at less than 8 KB a second over 30 seconds; while memory is short, at less than 100 KB in 5 seconds.', remedy: 'Send it again, on a better connection.' }),
  endpoint_retired: row(410, 'client', 'final', { message: 'This endpoint is retired.', meaning: 'The endpoint existed once.', remedy: 'Stop calling it.' }),
  request_too_large: row(413, 'client', 'final', { message: 'The request body is too large.', meaning: 'The body, inflated, is over 32 MB (64 MB on images, 64 KB on the admin API).', remedy: 'Send less, or send media by URL.' }),
  headers_too_large: row(431, 'client', 'final', { message: 'The request headers are too large.', meaning: 'The headers are over what the server reads.', remedy: 'Send fewer or shorter headers.' }),
  rate_limited: row(429, 'client', 'retry', { message: 'Too many requests in a minute.', meaning: 'Too many requests within a minute: of the key, of an account without backed credit, or of an address without a key that is known.', remedy: 'Wait for `retry-after`.' }),
  too_many_concurrent_requests: row(429, 'client', 'retry', { message: 'This API key has too many requests in flight.', meaning: 'The key has as many requests in flight as it may.', remedy: 'Wait for one of them to end.' }),

  // What the provider said of the request, in our words.
  context_length_exceeded: row(400, 'client', 'final', { message: 'prompt is too long: it does not fit the context window of this model. Shorten the input or lower the output cap.', meaning: "The prompt does not fit the model's context window.", remedy: 'Shorten it, or lower the output cap.' }),
  content_policy_violation: row(400, 'client', 'final', { message: 'The provider refused the content under its policy. Change the input.', meaning: 'The provider refused the content.', remedy: 'Change the input.' }),
  provider_rejected_request: row(400, 'client', 'final', { message: 'The provider refused the request.', meaning: 'The provider refused the request.', remedy: 'Compare its fields with `supported_parameters` of the model.' }),
  provider_forbidden: row(403, 'client', 'final', { message: 'The provider does not allow this request.', meaning: 'The provider does not allow this request.', remedy: 'Change it, or use another model.' }),
  provider_not_found: row(404, 'client', 'final', { message: 'The provider does not offer this model for this request.', meaning: 'The provider does not offer this model for this request.', remedy: 'Use another model.' }),
  provider_request_timeout: row(408, 'upstream', 'retry', { message: 'The provider gave up on the request.', meaning: 'The provider gave up on the request.', remedy: 'Try again.' }),
  provider_conflict: row(409, 'upstream', 'retry', { message: 'The provider reported a conflict.', meaning: 'The provider reported a conflict.', remedy: 'Try again.' }),
  provider_request_too_large: row(413, 'client', 'final', { message: 'The request is too large for the provider.', meaning: 'The request is too large for the provider.', remedy: 'Send less.' }),
  provider_unprocessable: row(422, 'client', 'final', { message: 'The provider could not process the request.', meaning: 'The provider understood the request and could not do it.', remedy: 'Change the request.' }),
  provider_rate_limited: row(429, 'upstream', 'retry', { message: 'The provider is limiting requests to this model.', meaning: 'The provider is limiting requests to this model.', remedy: 'Wait for `retry-after`, or use another model.' }),

  // Ours, or the way to the provider.
  internal_error: row(500, 'platform', 'retry', { message: 'The gateway failed on this request.', meaning: 'The gateway failed; its log has the request id.', remedy: 'Try again; tell whoever runs it if it stays.' }),
  upstream_error: row(502, 'upstream', 'retry', { message: 'The provider failed on this request.', meaning: 'The provider failed, or could not be reached (nothing charged), or its answer was lost (nothing charged yet, the hold stays reserved).', remedy: 'Try again.' }),
  service_unavailable: row(503, 'platform', 'retry', { message: 'Inference is temporarily unavailable.', meaning: 'The gateway cannot run requests at the moment, or large requests, of this account or of all, take the memory that there is for them.', remedy: 'Try again.' }),
  model_prices_stale: row(503, 'platform', 'retry', { message: 'The prices of this model have not been refreshed for over an hour, so it cannot be priced.', meaning: "The model's prices are more than an hour old, so that no hold can be sized.", remedy: 'Try again; whoever runs the gateway should look at its catalog refresh.' }),
  upstream_timeout: row(504, 'upstream', 'retry', { message: 'The provider did not answer before the deadline.', meaning: 'The provider did not answer before the deadline. Nothing charged yet; unless it was a stream, the hold stays reserved.', remedy: 'Try again, streamed if the answer is long.' }),
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
