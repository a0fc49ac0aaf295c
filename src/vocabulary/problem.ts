import type { RateLimit } from './request-window.ts'

/**
 * Every refusal and failure that a client can see, in one table. A problem has two audiences: its
 * public message goes to the client, its cause to the log; nothing else ever leaves.
 */

/** The party who must act before the request can succeed. */
type ProblemOwner = 'client' | 'billing' | 'upstream' | 'platform'

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

/** One problem. Backticks in `meaning` and `remedy` mark code. */
interface ProblemRow {
  readonly httpStatus: number
  readonly owner: ProblemOwner
  /** Whether the same request, unchanged, may succeed later. */
  readonly retryable: boolean
  /** The places in which it can occur. */
  readonly places: readonly ProblemPlace[]
  /** The message of the answer, unless the place that throws gives a better one. */
  readonly message: string
  readonly meaning: string
  /** The remedy. */
  readonly remedy: string
}

type ProblemTexts = Pick<ProblemRow, 'message' | 'meaning' | 'remedy'>

// biome-ignore lint/complexity/useMaxParams: each row below reads as one line of a table.
const row = (
  httpStatus: number,
  owner: ProblemOwner,
  retry: 'retry' | 'final',
  places: readonly ProblemPlace[],
  texts: ProblemTexts,
): ProblemRow => ({ httpStatus, owner, retryable: retry === 'retry', places, ...texts })

// biome-ignore format: one problem is one line.
/**
 * The table: every code that a client can see. `npm run docs` writes it to `docs/errors.md`, and `/docs`
 * shows it.
 */
export const PROBLEMS = {
  // The request itself.
  invalid_json: row(400, 'client', 'final', EVERYWHERE, { message: 'The body is not a valid JSON object.', meaning: 'The body is not UTF-8 or not a JSON object, has a duplicate of a field that the gateway reads, is nested deeper than 512 levels, or has more values than the gateway reads: about 800,000 objects or strings, or 4,000,000 numbers.', remedy: 'Send one JSON object.' }),
  missing_model: row(400, 'client', 'final', REQUESTS, { message: 'Set `model` to a model ID of the form <author>/<name>.', meaning: '`model` is absent, null or empty.', remedy: 'Set it to an ID from `GET /v1/models`.' }),
  missing_prompt: row(400, 'client', 'final', REQUESTS, { message: 'Set `prompt` to a string or an array.', meaning: 'A legacy completion has no `prompt`.', remedy: 'Set it to a string or an array.' }),
  invalid_parameter: row(400, 'client', 'final', EVERYWHERE, { message: 'A parameter has a value that cannot be used.', meaning: 'The field in `param` has a type or a value that cannot be used, or its name is in the wrong case.', remedy: 'Correct that field.' }),
  output_cap_required: row(400, 'client', 'final', REQUESTS, { message: 'This model lists no maximum output: send an output cap.', meaning: 'The model lists no maximum output, so the gateway cannot compute a hold.', remedy: 'Send an output cap, such as `max_tokens`.' }),
  unsupported_parameter: row(400, 'client', 'final', REQUESTS, { message: 'A parameter is not supported.', meaning: 'The field in `param` is not supported by the gateway, or not by the upstream of the model.', remedy: 'Leave the field out.' }),
  unsupported_model: row(400, 'client', 'final', REQUESTS, { message: 'This model cannot be used on this endpoint.', meaning: 'The model cannot be used on this endpoint, or bills per search.', remedy: 'Use the endpoint that the answer to the client names, or another model.' }),
  bad_request: row(400, 'client', 'final', EVERYWHERE, { message: 'The request is not valid HTTP.', meaning: 'The bytes are not valid HTTP, the body broke off, or the body is not encoded as its `content-encoding` says.', remedy: 'Check the client and any proxy in between.' }),
  missing_api_key: row(401, 'client', 'final', BY_KEY, { message: 'Send an API key as `Authorization: Bearer <key>` or as `x-api-key: <key>`.', meaning: 'The request has no API key.', remedy: 'Send the key as `Authorization: Bearer <key>` or `x-api-key: <key>`.' }),
  invalid_api_key: row(401, 'client', 'final', BY_KEY, { message: 'This API key is not known: it is mistyped or cut short, was deleted, or belongs to another gateway.', meaning: 'The gateway does not know this key, or the text is not a key of this gateway.', remedy: 'Check the key for missing characters, or create a new one.' }),
  api_key_disabled: row(401, 'client', 'final', EVERYWHERE, { message: 'This API key is disabled. Use another key, or have this one enabled.', meaning: 'The key is disabled.', remedy: 'Use another key, or enable this one.' }),
  account_suspended: row(403, 'client', 'final', EVERYWHERE, { message: 'This account is suspended. Contact the operator of this gateway.', meaning: 'The operator has suspended the account of the key: all of its keys are refused.', remedy: 'Contact the operator of the gateway.' }),
  api_key_expired: row(401, 'client', 'final', BY_KEY, { message: 'This API key has expired. Use another key, or have a later expiry set.', meaning: 'The key is past its expiry.', remedy: 'Use another key, or set a later expiry.' }),
  invalid_admin_token: row(401, 'client', 'final', API, { message: 'Send an admin token as `Authorization: Bearer <token>`.', meaning: 'The request to `/v1/admin` has no admin token, or one that is unknown, expired or revoked.', remedy: 'Send `ADMIN_API_TOKEN`, or a token of `tollgate token create`, as `Authorization: Bearer`.' }),
  admin_scope_missing: row(403, 'client', 'final', API, { message: 'The admin token lacks the required scope.', meaning: 'The admin token lacks the scope that the operation requires. The message names the scope.', remedy: 'Use a token with this scope: `tollgate token create --scope`.' }),
  invalid_metrics_token: row(401, 'client', 'final', API, { message: 'Send the metrics token as `Authorization: Bearer <token>`.', meaning: 'The request to `/metrics` has no metrics token or a wrong one.', remedy: 'Send `METRICS_TOKEN` as `Authorization: Bearer`.' }),
  not_signed_in: row(401, 'client', 'final', PAGE, { message: 'Sign in first.', meaning: 'The page sent no session, or one that has ended.', remedy: 'Sign in.' }),
  invalid_sign_in: row(401, 'client', 'final', PAGE, { message: 'The email address or the password is wrong.', meaning: 'No user of the page has this email address and password.', remedy: 'Check both, or ask the operator for a link to set a new password.' }),
  invalid_second_factor: row(401, 'client', 'final', PAGE, { message: 'Incorrect or already used code.', meaning: "The code of the authenticator app, or the recovery code, is wrong or was used before; or the signature is not from one of the user's passkeys, or came more than five minutes after it was asked for.", remedy: 'Wait for the next code of the app, and check the clock of the phone; or use a recovery code.' }),
  second_factor_required: row(403, 'client', 'final', PAGE, { message: 'Operators of this gateway need a second factor. Set one up first.', meaning: 'With `TOLLGATE_OPERATOR_SECOND_FACTOR=required`, an operator without a second factor can only open the setup of one.', remedy: 'Set up a second factor.' }),
  address_not_proved: row(403, 'client', 'final', PAGE, { message: 'Confirm your email address first: sign out, then sign in by email or at a provider.', meaning: 'The user joined through an invitation to an account, and has not proved the email address. Another person may own it, and a second factor or another address would keep that person out.', remedy: 'Sign in by email, or at a provider that verifies the address, then set up the second factor or change the address.' }),
  sign_in_again: row(403, 'client', 'final', PAGE, { message: 'Enter your password again first.', meaning: 'The change needs the password, which was entered more than ten minutes ago. Operators need it for changes on the page; members to create or rotate a key, to invite a person and to change a role; all users to change second factors or their email address. Each such change renews the ten minutes, up to an hour after the password. Names, metadata and changes that take access away need no password.', remedy: 'Enter the password again. A user without one signs in again by email or at the provider.' }),
  not_invited: row(403, 'client', 'final', PAGE, { message: 'You have no invitation to this gateway. Ask its operator for one.', meaning: 'The person signed in at a provider, but is not a user of the gateway and has no invitation for an address that the provider calls verified; or the invitation that was opened is for another address.', remedy: 'Ask the operator for an invitation, open its link, and sign in from there.' }),
  sign_in_refused: row(403, 'client', 'final', PAGE, { message: 'Sign-in failed. Try again in this browser; it must be completed within 10 minutes.', meaning: 'The provider refused the sign-in or sent an invalid answer; or the sign-in was used before, began in another browser, or took more than ten minutes.', remedy: 'Sign in again. If it persists, ask the operator: the log has the reason.' }),
  insufficient_credit: row(402, 'billing', 'final', REQUESTS, { message: 'The account has too little credit for this request. Add credit, or lower the output cap.', meaning: "The hold of the request is larger than the available credit, or than the rest of the account's allowance. The answer to the client has the amounts that are needed, available, and held by requests in flight or unresolved; the time at which an allowance resets; and the largest output cap that fits, if there is one. If the output cap is above the maximum that the model lists, it also has the amount needed for that maximum. If the account has no credit, models that cost nothing do not run either, and a body over 64 KB gets this answer before it is read.", remedy: 'Add credit, lower the output cap, or wait until other requests are settled; `GET /v1/balance` shows what is unresolved, and until when.' }),
  key_limit_reached: row(402, 'billing', 'final', REQUESTS, { message: 'This API key has too little of its credit limit left. Raise the limit, or use another key.', meaning: "The hold of the request is larger than the rest of the key's credit limit, or of its allowance. The answer to the client has the time at which the allowance resets, and the largest output cap that fits, if there is one.", remedy: 'Raise the limit or the allowance, wait until the allowance resets, or use another key.' }),
  free_credit_not_eligible: row(402, 'billing', 'final', REQUESTS, { message: 'The account has only free credit, which does not pay for this request. Add paid credit, or use a text model with open weights.', meaning: 'The account has only free credit, which does not pay for this model or endpoint.', remedy: 'Add paid credit, or use a text model with open weights.' }),
  foreign_origin: row(403, 'client', 'final', PAGE, { message: 'This request did not come from the page. Open the page at its own address.', meaning: 'A call of the page that changes something came from another site or without JSON, or the page is used without TLS on another machine.', remedy: 'Open the page at the address of `TOLLGATE_PUBLIC_URL`.' }),
  card_refused: row(403, 'billing', 'final', PAGE, { message: "This account can't pay by card, because a card payment is disputed.", meaning: "A card payment of the account was disputed at the cardholder's bank. The account can pay by card again if the dispute is won.", remedy: 'Pay by another method, or ask the operator.' }),
  owner_required: row(403, 'client', 'final', PAGE, { message: 'Only an owner of the account can do this. Ask an owner.', meaning: 'Only owners of the account can do this, for example redeem a credit code. The caller is a member.', remedy: 'Ask an owner of the account.' }),
  model_not_allowed: row(403, 'client', 'final', EVERYWHERE, { message: 'This API key is not allowed to use this model; GET /v1/models with the key lists the models that it can use.', meaning: 'The model lists (`models`) of the API key or of its account exclude the model that the request names.', remedy: 'Use a model that `GET /v1/models` lists for the same key, or have the lists changed: those of the key by a member of the account, those of the account by the operator.' }),
  invalid_link: row(404, 'client', 'final', PAGE, { message: 'This link was used before, has expired, or is incomplete.', meaning: 'The link for setup, an invitation or a new password was used before, has expired, or is incomplete.', remedy: 'Ask the operator for a new link. For the link of the setup, restart the server: it prints a new one.' }),
  invalid_code: row(404, 'client', 'final', PAGE, { message: 'The code is wrong, was used before or has expired. After five tries, ask for another email.', meaning: 'The emailed code is wrong, was used before, has expired, or five tries have failed.', remedy: 'Check it, or ask for another email.' }),
  model_not_found: row(404, 'client', 'final', EVERYWHERE, { message: 'This model is not in the catalog; GET /v1/models lists the models.', meaning: 'The catalog does not have the model that the request names. The answer to the client suggests an ID if the name lacks its author, has another author, date or punctuation, or differs from it in a letter or two.', remedy: 'Use an ID from `GET /v1/models`.' }),
  not_found: row(404, 'client', 'final', MANAGING, { message: 'This method and path do not exist; /docs lists the endpoints.', meaning: 'No account, key, request or other object has the ID, or this method and path do not exist. The message names the ID or the path, and often the path that was meant.', remedy: 'Check the ID. For a path, check the method and the base URL of the client: the path must have `/v1` exactly once.' }),
  reference_conflict: row(409, 'client', 'final', MANAGING, { message: 'This reference was already used for other credit of the account. Use another reference.', meaning: 'The account already has credit with this reference, with another amount, kind or expiry.', remedy: "Check the account's entries; use a new reference for new credit." }),
  external_id_taken: row(409, 'client', 'final', MANAGING, { message: 'Another account has this external ID. Use another ID.', meaning: 'Another account already has this external ID.', remedy: 'Find that account with `GET /v1/admin/accounts?external_id=`, or use another ID.' }),
  request_not_settleable: row(409, 'client', 'final', MANAGING, { message: 'Only an unresolved or provisional request can be settled.', meaning: 'The request is still running, or is already settled.', remedy: 'Check its state.' }),
  last_operator: row(409, 'client', 'final', MANAGING, { message: 'This user is the last operator. Invite another operator first.', meaning: 'Without this user the page would have no operator.', remedy: 'Invite another operator first.' }),
  last_owner: row(409, 'client', 'final', MANAGING, { message: 'This user is the last owner of the account. Make another owner first.', meaning: 'Without this user the account would have no owner.', remedy: 'Make another member an owner first.' }),
  too_many_invitations: row(409, 'client', 'final', PAGE, { message: 'The account has 100 open invitations. Withdraw one first.', meaning: 'The account has 100 open invitations, which is the maximum: they were neither accepted nor withdrawn, and have not expired.', remedy: 'Withdraw one, or wait until one expires.' }),
  too_many_keys: row(409, 'client', 'final', PAGE, { message: 'This account has as many API keys as its members can have. Delete keys that are no longer used, or ask the operator for more.', meaning: 'The account has as many API keys as its members can have, or as many were created in it within 24 hours: 1,000, unless `TOLLGATE_KEYS_PER_ACCOUNT` sets another number. Or the key of the Playground was deleted 20 times within 24 hours.', remedy: 'Delete keys that are no longer used, or ask the operator for more.' }),
  unknown_credit_code: row(404, 'client', 'final', MANAGING, { message: 'No such credit code. Check it for mistyped characters.', meaning: 'No credit code has this text.', remedy: 'Check it for mistyped characters.' }),
  credit_code_redeemed: row(409, 'client', 'final', MANAGING, { message: 'Another account has redeemed this credit code. Use another code.', meaning: 'Another account has redeemed this code.', remedy: 'Use another code.' }),
  credit_code_expired: row(409, 'client', 'final', MANAGING, { message: 'This credit code has expired or was revoked. Ask for another code.', meaning: 'The code has expired or was revoked.', remedy: 'Ask for another code.' }),
  purchase_not_held: row(409, 'client', 'final', MANAGING, { message: 'Only purchases on hold can be approved or dismissed.', meaning: 'The purchase is credited, open, expired or dismissed, so there is nothing to decide; or the provider says that it is not paid.', remedy: 'Check its state.' }),
  purchase_not_open: row(409, 'client', 'final', MANAGING, { message: 'This purchase was already paid or has expired. Check its state before you start another one.', meaning: 'The purchase was already paid or has expired, or is not a card payment.', remedy: 'Check its state before you start another one.' }),
  request_timeout: row(408, 'client', 'retry', EVERYWHERE, { message: 'The request body did not arrive in time. Send it again over a faster connection.', meaning: 'The body did not arrive in time, or arrived at less than 8 KB a second over 30 seconds; while memory is short, at less than 100 KB in 5 seconds.', remedy: 'Send it again over a faster connection.' }),
  endpoint_retired: row(410, 'client', 'final', API, { message: 'This endpoint is retired. /docs lists the endpoints.', meaning: 'The endpoint existed in an earlier version.', remedy: 'Stop calling it.' }),
  request_too_large: row(413, 'client', 'final', EVERYWHERE, { message: 'The request body is too large. Send a smaller body, or send media by URL.', meaning: 'The body is over 32 MB after decompression (64 MB on images, 64 KB on the admin API).', remedy: 'Send a smaller body, or send media by URL.' }),
  headers_too_large: row(431, 'client', 'final', EVERYWHERE, { message: 'The request headers are too large. Send fewer or shorter headers.', meaning: 'The headers are larger than the server accepts.', remedy: 'Send fewer or shorter headers.' }),
  rate_limited: row(429, 'client', 'retry', EVERYWHERE, { message: 'Too many requests in a minute. Wait as long as `retry-after` says.', meaning: 'Too many requests within a minute from one key, from one account without paid credit, from one address without a known key, or from one user of the page; too many other calls of a key; or too many allowances set by members of an account.', remedy: 'Wait as long as `retry-after` says.' }),
  too_many_concurrent_requests: row(429, 'client', 'retry', REQUESTS, { message: 'This API key has too many requests in flight. Wait for one of them to end.', meaning: 'The key has reached its limit of requests in flight.', remedy: 'Wait for one of them to end, or ask the operator for a higher limit.' }),

  // The problems that the provider reported about the request, in our words.
  context_length_exceeded: row(400, 'client', 'final', REQUESTS, { message: 'prompt is too long: it does not fit the context window of this model. Shorten the input or lower the output cap.', meaning: "The prompt does not fit the model's context window. If the prompt is only text and too long by the gateway's estimate too, the message has the estimate, the output cap and the window.", remedy: 'Shorten it, or lower the output cap.' }),
  content_policy_violation: row(400, 'client', 'final', REQUESTS, { message: 'The provider refused the content under its policy. Change the input.', meaning: 'The provider refused the content.', remedy: 'Change the input.' }),
  provider_rejected_request: row(400, 'client', 'final', REQUESTS, { message: "The provider refused the request. Compare its fields with the model's `supported_parameters`.", meaning: 'The provider refused the request as invalid.', remedy: "Compare its fields with the model's `supported_parameters`." }),
  provider_forbidden: row(403, 'client', 'final', REQUESTS, { message: 'The provider does not allow this request. Change it, or use another model.', meaning: 'The provider does not allow this request for this model.', remedy: 'Change it, or use another model.' }),
  provider_not_found: row(404, 'client', 'final', REQUESTS, { message: 'The provider does not offer this model for this request. Use another model.', meaning: 'No provider offers this model for this request.', remedy: 'Use another model.' }),
  provider_request_timeout: row(408, 'upstream', 'retry', REQUESTS, { message: 'The request took too long at the provider. Try again.', meaning: 'The provider answered 408: the request took too long.', remedy: 'Try again.' }),
  provider_conflict: row(409, 'upstream', 'retry', REQUESTS, { message: 'The provider reported a conflict. Try again.', meaning: 'The provider answered 409: the request conflicts with another one.', remedy: 'Try again.' }),
  provider_request_too_large: row(413, 'client', 'final', REQUESTS, { message: 'The request is too large for the provider. Send a smaller request.', meaning: 'The request is too large for the provider.', remedy: 'Send a smaller request.' }),
  provider_unprocessable: row(422, 'client', 'final', REQUESTS, { message: 'The provider could not process the request. Change the request.', meaning: 'The provider understood the request and could not process it.', remedy: 'Change the request.' }),
  provider_rate_limited: row(429, 'upstream', 'retry', REQUESTS, { message: 'The provider is limiting requests to this model. Try again later, or use another model.', meaning: 'The provider is limiting requests to this model.', remedy: 'Wait as long as `retry-after` says, or use another model.' }),

  // Ours, or the way to the provider.
  internal_error: row(500, 'platform', 'retry', EVERYWHERE, { message: 'The gateway failed on this request. Try again; if it persists, send the request ID to the operator.', meaning: 'The gateway failed; its log has the request ID.', remedy: 'Try again; if it persists, send the request ID to the operator.' }),
  upstream_error: row(502, 'upstream', 'retry', EVERYWHERE, { message: 'The provider failed on this request. Try again.', meaning: 'The provider failed or could not be reached. Nothing is charged, unless its answer was lost: then the hold stays until the charge is known.', remedy: 'Try again.' }),
  payment_unavailable: row(502, 'upstream', 'retry', MANAGING, { message: 'The payment provider does not answer. Try again; if it persists, ask the operator.', meaning: 'The payment provider does not answer, or is not configured on this gateway. For a purchase that was made before, also: it does not have the payment, or the token of the deposit is no longer accepted; the message says so.', remedy: 'Try again, unless the answer has `x-should-retry: false`; if it persists, ask the operator to check the settings of the provider.' }),
  chain_unavailable: row(502, 'upstream', 'retry', MANAGING, { message: "Deposits can't be checked at the moment. Deposits that were sent are credited later.", meaning: 'The nodes of the chain have not agreed on an answer for two minutes. Deposits that were sent are credited once they do.', remedy: 'Try again later, or pay by another method.' }),
  quote_unavailable: row(502, 'upstream', 'retry', MANAGING, { message: 'This token has no usable price at the moment. Try again later, or pay by another method.', meaning: 'The price of the token is missing, too old, or too far from a dollar.', remedy: 'Try again later, or pay by another method.' }),
  sign_in_unavailable: row(502, 'upstream', 'retry', PAGE, { message: 'The sign-in provider does not answer. Try again, or sign in another way.', meaning: 'The sign-in provider did not answer within ten seconds.', remedy: 'Try again, or sign in another way.' }),
  service_unavailable: row(503, 'platform', 'retry', EVERYWHERE, { message: 'Inference is temporarily unavailable. Try again in a few seconds.', meaning: 'The gateway cannot run this request at the moment: its store or the provider is unavailable to it, it is stopping or in maintenance, too many requests wait, or large requests (of this account or of all accounts) use all the memory for bodies.', remedy: 'Try again; if it persists, ask the operator: `GET /readyz` has the reason.' }),
  model_prices_stale: row(503, 'platform', 'retry', REQUESTS, { message: 'The prices of this model have not been refreshed for over an hour, so it cannot be priced. Try again later, or use another model.', meaning: "The model's prices are more than an hour old, so the gateway cannot compute a hold.", remedy: 'Try again; if it persists, ask the operator to check the catalog refresh.' }),
  upstream_timeout: row(504, 'upstream', 'retry', REQUESTS, { message: 'The provider did not answer before the deadline. Try again.', meaning: 'The provider did not answer before the deadline. Nothing is charged yet; unless it was a stream, or not all of the request could be sent, the hold stays until the charge is known.', remedy: 'Try again, and stream long answers.' }),
} as const satisfies Record<string, ProblemRow>

/** A stable, documented code, which clients match on. */
export type ProblemCode = keyof typeof PROBLEMS

/** The problem of a code that is stored or was answered; null: there is none, or not in this release. */
export function problemOfCode(code: string): ProblemRow | null {
  return Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code as ProblemCode] : null
}

export interface ProblemInput {
  /** The message for the client instead of the table's. Never text of the provider, never a key. */
  readonly message?: string
  /** The field at fault, as a path into the body: `tools[0].type`. */
  readonly param?: string
  readonly retryAfterSeconds?: number
  /** Whether the same request would always fail. Default as the table's row says. */
  readonly isFinal?: boolean
  /** Another status than the table's: a provider's refusal keeps the status that it came with. */
  readonly httpStatus?: number
  /** Only for the log. */
  readonly cause?: unknown
  /**
   * The `error.type` of a messages error that the provider gave and that is one of the format's own;
   * kept on messages, unused elsewhere.
   */
  readonly messagesType?: string
  readonly rateLimits?: readonly RateLimit[]
}

/** A failure with a public face. Thrown anywhere on a request's journey, answered in one place. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly param: string | null
  readonly retryAfterSeconds: number | null
  /** The answer says `x-should-retry: false`, which SDKs of OpenAI and Anthropic obey. */
  readonly isFinal: boolean
  readonly messagesType: string | null
  /** The limits that refuse the request; null: limits of a minute do not refuse it. */
  readonly rateLimits: readonly RateLimit[] | null
  readonly httpStatus: number

  constructor(code: ProblemCode, input: ProblemInput = {}) {
    super(input.message ?? PROBLEMS[code].message, { cause: input.cause })
    this.code = code
    this.param = input.param ?? null
    this.retryAfterSeconds = input.retryAfterSeconds ?? null
    this.isFinal = input.isFinal ?? !PROBLEMS[code].retryable
    this.messagesType = input.messagesType ?? null
    this.rateLimits = input.rateLimits ?? null
    this.httpStatus = input.httpStatus ?? PROBLEMS[code].httpStatus
  }
}

/** The refusal of one field of the input. By position: the field, then the message. */
export function invalidParameter(param: string, message: string): Problem {
  return new Problem('invalid_parameter', { param, message })
}

/** How a stream can fail although its status was 200 and no event reports the failure. */
export const UNREPORTED_FAILURES = [
  // The client disconnected before the end of its stream.
  'client_gone',
  // The provider's connection ended before the end of its stream.
  'upstream_disconnected',
] as const

/**
 * Why a request is marked failed in Activity: the error that the client got as a status or an event of
 * its stream, or would have got at a deadline; else an unreported failure.
 */
export type FailureCode = ProblemCode | (typeof UNREPORTED_FAILURES)[number]

const ECHOED_CHARS_MAX = 200

// No id of ours is a secret, however long it is.
const OWN_ID = /\b(?:acct|act|atok|code|ent|hook|inst|key|link|msg|pur|req|sess|user)_\w+/g

// A prefix that services give their keys; a UUID; a credit code; or a run of characters as no name has it.
const KEY_LIKE = [
  /(?:^|[^a-z])(?:sk|pk|rk|gsk|ghp|gho|hf|xox[a-z]|api|bearer|basic|token)[-_ ]\S{8}/i,
  /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}/i,
  /(?:[\da-z]{6}-){3}[\da-z]{6}/i,
  /(?=\w*\d)(?=\w*[a-z])\w{24}/i,
]

/**
 * A client's text in the form in which a message can repeat it: at most 200 characters, without control characters.
 * Null if no part of it can be shown, or if it may be a key in the wrong place.
 */
export function echoed(text: string): string | null {
  const visible = text.slice(0, 10 * ECHOED_CHARS_MAX).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
  const checked = visible.replace(OWN_ID, '')
  if (visible.trim() === '' || KEY_LIKE.some((pattern) => pattern.test(checked))) return null
  const chars = [...visible]
  return chars.length > ECHOED_CHARS_MAX
    ? `${chars.slice(0, ECHOED_CHARS_MAX - 1).join('')}…`
    : visible
}
