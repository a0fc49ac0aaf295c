import type { ProblemCode } from './problem.ts'

/**
 * The place where a problem can occur: an answer to an inference request, to a management call of the API, or to a call
 * of the page in the browser.
 */
export type ProblemPlace = 'inference' | 'management' | 'page'

const EVERYWHERE = ['inference', 'management', 'page'] as const
const BY_KEY = ['inference', 'management'] as const
/** The Playground of the page sends requests too. */
const REQUESTS = ['inference', 'page'] as const
const MANAGING = ['management', 'page'] as const
const API = ['management'] as const
const PAGE = ['page'] as const

/** The places in which each problem can occur: a new one does not compile without them. */
export const PROBLEM_PLACES: Readonly<Record<ProblemCode, readonly ProblemPlace[]>> = {
  invalid_json: EVERYWHERE,
  missing_model: REQUESTS,
  missing_prompt: REQUESTS,
  invalid_parameter: EVERYWHERE,
  output_cap_required: REQUESTS,
  unsupported_parameter: REQUESTS,
  unsupported_model: REQUESTS,
  bad_request: EVERYWHERE,
  missing_api_key: BY_KEY,
  invalid_api_key: BY_KEY,
  api_key_disabled: EVERYWHERE,
  account_suspended: EVERYWHERE,
  api_key_expired: BY_KEY,
  invalid_admin_token: API,
  admin_scope_missing: API,
  invalid_metrics_token: API,
  not_signed_in: PAGE,
  invalid_sign_in: PAGE,
  invalid_second_factor: PAGE,
  second_factor_required: PAGE,
  address_not_proved: PAGE,
  sign_in_again: PAGE,
  not_invited: PAGE,
  sign_in_refused: PAGE,
  insufficient_credit: REQUESTS,
  key_limit_reached: REQUESTS,
  free_credit_not_eligible: REQUESTS,
  foreign_origin: PAGE,
  card_refused: PAGE,
  owner_required: PAGE,
  model_not_allowed: EVERYWHERE,
  invalid_link: PAGE,
  invalid_code: PAGE,
  model_not_found: EVERYWHERE,
  not_found: MANAGING,
  reference_conflict: MANAGING,
  external_id_taken: MANAGING,
  request_not_settleable: MANAGING,
  last_operator: MANAGING,
  last_owner: MANAGING,
  too_many_invitations: PAGE,
  too_many_keys: PAGE,
  unknown_credit_code: MANAGING,
  credit_code_redeemed: MANAGING,
  credit_code_expired: MANAGING,
  purchase_not_held: MANAGING,
  purchase_not_open: MANAGING,
  request_timeout: EVERYWHERE,
  endpoint_retired: API,
  request_too_large: EVERYWHERE,
  headers_too_large: EVERYWHERE,
  rate_limited: EVERYWHERE,
  too_many_concurrent_requests: REQUESTS,
  context_length_exceeded: REQUESTS,
  content_policy_violation: REQUESTS,
  provider_rejected_request: REQUESTS,
  provider_forbidden: REQUESTS,
  provider_not_found: REQUESTS,
  provider_request_timeout: REQUESTS,
  provider_conflict: REQUESTS,
  provider_request_too_large: REQUESTS,
  provider_unprocessable: REQUESTS,
  provider_rate_limited: REQUESTS,
  internal_error: EVERYWHERE,
  upstream_error: EVERYWHERE,
  payment_unavailable: MANAGING,
  chain_unavailable: MANAGING,
  quote_unavailable: MANAGING,
  sign_in_unavailable: PAGE,
  service_unavailable: EVERYWHERE,
  model_prices_stale: REQUESTS,
  upstream_timeout: REQUESTS,
}
