import type { ProblemCode } from '../../vocabulary/problem.ts'

/** What a problem means to whoever meets it, and what to do about it. Backticks mark code. */
export interface Advice {
  readonly meaning: string
  readonly remedy: string
}

/** The advice on every problem; `docs/errors.md` has the same sentences, and a test holds the two together. */
export const ADVICE: Readonly<Record<ProblemCode, Advice>> = {
  invalid_json: {
    meaning:
      'The body is not UTF-8, not a JSON object, gives a field twice where it matters, is nested deeper than 512 levels, or has more values than the gateway reads: some 800,000 objects or strings, or 4,000,000 numbers.',
    remedy: 'Send one JSON object.',
  },
  missing_model: {
    meaning: '`model` is absent, null or empty.',
    remedy: 'Set it to an id of `GET /v1/models`.',
  },
  missing_prompt: {
    meaning: 'Completions: `prompt` is absent.',
    remedy: 'Set it to a string or an array.',
  },
  invalid_parameter: {
    meaning:
      'The field in `param` has a type or value that cannot be used, or a name in the wrong case.',
    remedy: 'Correct that field.',
  },
  output_cap_required: {
    meaning: 'The model lists no maximum output, so that no hold can be sized.',
    remedy: 'Send an output cap.',
  },
  unsupported_parameter: {
    meaning: 'The field in `param` asks for what this service does not do.',
    remedy: 'Leave it out.',
  },
  unsupported_model: {
    meaning: 'The model cannot be used on this endpoint, or bills per search.',
    remedy: 'Use the endpoint that the message names, or another model.',
  },
  bad_request: {
    meaning:
      'The bytes are not valid HTTP, the body broke off, or it is not coded as its `content-encoding` says.',
    remedy: 'Look at the client, or at what is between.',
  },
  model_not_found: {
    meaning: 'The catalog has no such model.',
    remedy: 'Pick an id of `GET /v1/models`.',
  },
  not_found: {
    meaning: 'This method and path do not exist; the message names them.',
    remedy: 'Look at the base address: one `/v1`, no more; and at the method.',
  },
  request_timeout: {
    meaning:
      'The body did not arrive in time, or came at less than 8 KB a second over 30 seconds; while memory is short, at less than 100 KB in 5 seconds.',
    remedy: 'Send it again, on a better connection.',
  },
  endpoint_retired: {
    meaning: 'The endpoint existed once.',
    remedy: 'Stop calling it.',
  },
  request_too_large: {
    meaning: 'The body, inflated, is over 32 MB (64 MB on images, 64 KB on the admin API).',
    remedy: 'Send less, or send media by URL.',
  },
  headers_too_large: {
    meaning: 'The headers are over what the server reads.',
    remedy: 'Send fewer or shorter headers.',
  },
  missing_api_key: {
    meaning: 'The request carries no key.',
    remedy: 'Send it as `Authorization: Bearer` or `x-api-key`.',
  },
  invalid_api_key: {
    meaning: 'No such key.',
    remedy: 'Check it for missing characters, or make a new one.',
  },
  api_key_disabled: {
    meaning: 'The key, or its account, is disabled.',
    remedy: 'Use another, or have it enabled.',
  },
  api_key_expired: {
    meaning: 'The key is past its expiry.',
    remedy: 'Use another, or have its expiry moved.',
  },
  insufficient_credit: {
    meaning:
      "The account has less available than the request's hold. The message says what was needed, what is available, and what requests in flight hold. Where the output cap is above the maximum that the model lists, it also says what a cap of that maximum would need. Where the account has no credit at all, a body over 64 KB is answered so before it is read.",
    remedy: 'Add credit, lower the output cap, or wait for what is in flight.',
  },
  key_limit_reached: {
    meaning: 'The key has less left of its credit limit than the hold.',
    remedy: 'Raise its limit, or use another key.',
  },
  free_credit_not_eligible: {
    meaning: 'The account has only free credit, which does not pay for this request.',
    remedy: 'Add backed credit, or use a text model with open weights.',
  },
  invalid_admin_token: {
    meaning: 'The request to `/v1/admin` has no admin token, or another one.',
    remedy: 'Send `ADMIN_API_TOKEN` as `Authorization: Bearer`.',
  },
  invalid_metrics_token: {
    meaning: 'The request to `/metrics` has no metrics token, or another one.',
    remedy: 'Send `METRICS_TOKEN` as `Authorization: Bearer`.',
  },
  reference_conflict: {
    meaning: "The reference was used for another amount, kind or expiry of the account's credit.",
    remedy: "Look at the account's entries; use a new reference for new credit.",
  },
  request_not_settleable: {
    meaning: 'The request is still running, or was settled before.',
    remedy: 'Look at its state.',
  },
  unknown_credit_code: {
    meaning: 'Nothing was ever made with this code.',
    remedy: 'Check it for wrong characters.',
  },
  credit_code_redeemed: {
    meaning: 'Another account has the credit of this code.',
    remedy: 'Use another code.',
  },
  credit_code_expired: {
    meaning: 'The code is past its expiry, or was revoked.',
    remedy: 'Ask for another code.',
  },
  rate_limited: {
    meaning:
      'Too many requests within a minute: of the key, of an account without backed credit, or of an address without a key that is known.',
    remedy: 'Wait for `retry-after`.',
  },
  too_many_concurrent_requests: {
    meaning: 'The key has as many requests in flight as it may.',
    remedy: 'Wait for one of them to end.',
  },
  context_length_exceeded: {
    meaning: "The prompt does not fit the model's context window.",
    remedy: 'Shorten it, or lower the output cap.',
  },
  content_policy_violation: {
    meaning: 'The provider refused the content.',
    remedy: 'Change the input.',
  },
  provider_rejected_request: {
    meaning: 'The provider refused the request.',
    remedy: 'Compare its fields with `supported_parameters` of the model.',
  },
  provider_forbidden: {
    meaning: 'The provider does not allow this request.',
    remedy: 'Change it, or use another model.',
  },
  provider_not_found: {
    meaning: 'The provider does not offer this model for this request.',
    remedy: 'Use another model.',
  },
  provider_request_timeout: {
    meaning: 'The provider gave up on the request.',
    remedy: 'Try again.',
  },
  provider_conflict: {
    meaning: 'The provider reported a conflict.',
    remedy: 'Try again.',
  },
  provider_request_too_large: {
    meaning: 'The request is too large for the provider.',
    remedy: 'Send less.',
  },
  provider_unprocessable: {
    meaning: 'The provider understood the request and could not do it.',
    remedy: 'Change the request.',
  },
  provider_rate_limited: {
    meaning: 'The provider is limiting requests to this model.',
    remedy: 'Wait for `retry-after`, or use another model.',
  },
  internal_error: {
    meaning: 'The gateway failed; its log has the request id.',
    remedy: 'Try again; tell whoever runs it if it stays.',
  },
  upstream_error: {
    meaning:
      'The provider failed, or could not be reached (nothing charged), or its answer was lost (nothing charged yet, the hold stays reserved).',
    remedy: 'Try again.',
  },
  service_unavailable: {
    meaning:
      'The gateway cannot run requests at the moment, or large requests, of this account or of all, take the memory that there is for them.',
    remedy: 'Try again.',
  },
  model_prices_stale: {
    meaning: "The model's prices are more than an hour old, so that no hold can be sized.",
    remedy: 'Try again; whoever runs the gateway should look at its catalog refresh.',
  },
  upstream_timeout: {
    meaning:
      'The provider did not answer before the deadline. Nothing charged yet; unless it was a stream, the hold stays reserved.',
    remedy: 'Try again, streamed if the answer is long.',
  },
}
