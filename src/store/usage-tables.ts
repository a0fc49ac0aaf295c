import { ZERO_MICROS } from '../vocabulary/money.ts'
import { USAGE_STEPS } from '../vocabulary/usage-step.ts'
import { amount, flag, integer, oneOf, type RowOf, startsAs, Table, text } from './table.ts'

/** The sums of requests that roll-ups have. */
const USAGE = {
  model_id: text,
  endpoint: text,
  /** Empty: not known, because the requests were pruned before roll-ups distinguished upstreams. */
  upstream: text,
  requests: integer,
  /** The number of requests that ended with an error. */
  failed: startsAs(0, integer),
  backed_charge_micros: startsAs(ZERO_MICROS, amount),
  free_charge_micros: startsAs(ZERO_MICROS, amount),
  written_off_micros: startsAs(ZERO_MICROS, amount),
  /** The provider's costs of the charged requests: micro-dollars, and millionths of them that are not carried yet. */
  cost_micros: startsAs(ZERO_MICROS, amount),
  cost_rest_pico: startsAs(0, integer),
  /** Charged requests whose cost is not known. If `upstream` is empty, these are all of them. */
  uncosted: startsAs(0, integer),
  input_tokens: startsAs(0, integer),
  cache_read_tokens: startsAs(0, integer),
  cache_write_tokens: startsAs(0, integer),
  cache_write_long_tokens: startsAs(0, integer),
  output_tokens: startsAs(0, integer),
  reasoning_tokens: startsAs(0, integer),
  image_output_tokens: startsAs(0, integer),
  searches: startsAs(0, integer),
  // The number of requests with their first byte within 50 ms, then within 1.5 times the step before; the
  // last counts all slower ones.
  wait_00: startsAs(0, integer),
  wait_01: startsAs(0, integer),
  wait_02: startsAs(0, integer),
  wait_03: startsAs(0, integer),
  wait_04: startsAs(0, integer),
  wait_05: startsAs(0, integer),
  wait_06: startsAs(0, integer),
  wait_07: startsAs(0, integer),
  wait_08: startsAs(0, integer),
  wait_09: startsAs(0, integer),
  wait_10: startsAs(0, integer),
  wait_11: startsAs(0, integer),
  wait_12: startsAs(0, integer),
  wait_13: startsAs(0, integer),
  wait_14: startsAs(0, integer),
  wait_15: startsAs(0, integer),
  wait_16: startsAs(0, integer),
  wait_17: startsAs(0, integer),
  wait_18: startsAs(0, integer),
  wait_19: startsAs(0, integer),
  wait_20: startsAs(0, integer),
  wait_21: startsAs(0, integer),
  wait_22: startsAs(0, integer),
  wait_23: startsAs(0, integer),
} as const

/** Sums of the requests of one hour. They count once `usage_rolled` names the hour. */
export const USAGE_HOURS = new Table('usage_hours', {
  key: ['hour', 'account_id', 'model_id', 'endpoint', 'upstream'],
  fixed: {
    /** Hours since the Unix epoch, by the time in the ids of the requests. */
    hour: integer,
    /** Empty: all accounts together. */
    account_id: text,
    ...USAGE,
  },
})

/** Sums of the requests of one UTC day. They count once `usage_rolled` names the day. */
export const USAGE_DAYS = new Table('usage_days', {
  key: ['day', 'account_id', 'api_key_id', 'model_id', 'endpoint', 'upstream'],
  fixed: {
    /** Days since the Unix epoch. */
    day: integer,
    /** Empty: all accounts together. */
    account_id: text,
    /** Empty: all keys of the account together, or of all accounts. */
    api_key_id: text,
    ...USAGE,
  },
})

/**
 * The failed requests of each roll-up by error code: those of a group add up to its `failed`. They count once
 * `usage_rolled` names the hour or day.
 */
export const USAGE_ERRORS = new Table('usage_errors', {
  key: [
    ...(['step', 'number', 'account_id', 'api_key_id'] as const),
    ...(['model_id', 'endpoint', 'upstream', 'code'] as const),
  ],
  fixed: {
    step: oneOf(USAGE_STEPS),
    /** The hour or day, counted from the Unix epoch. */
    number: integer,
    /** Empty: all accounts together. */
    account_id: text,
    /** Empty: all keys together, as in every row of an hour. */
    api_key_id: text,
    model_id: text,
    endpoint: text,
    upstream: text,
    /** Empty: not known, because the requests were pruned before roll-ups had codes. */
    code: text,
    requests: integer,
    /** The newest of them; empty if the code is not known. */
    latest_id: text,
  },
})

/** The hours and days whose roll-ups are complete, and the days some of whose requests were pruned. */
const USAGE_ROLLED = new Table('usage_rolled', {
  key: ['step', 'number'],
  fixed: {
    step: oneOf([...USAGE_STEPS, 'pruned']),
    /** The hour or day, counted from the Unix epoch. */
    number: integer,
    /** The number of its requests; 0 for `pruned`. */
    requests: integer,
    rolled_at_ms: integer,
    /** The newest schema that the program knew which rolled it up; 0: not known. */
    program_schema: integer,
  },
})

/**
 * The provider's bill for requests whose holds were released: it is learned after their hour is rolled up, so
 * roll-ups do not include it. The row stays when the request is pruned.
 */
export const LATE_COSTS = new Table('late_costs', {
  key: ['id'],
  fixed: {
    /** The id of the request. */
    id: text,
    /** The hour and the day of its id, counted from the Unix epoch. */
    hour: integer,
    day: integer,
    account_id: text,
    api_key_id: text,
    model_id: text,
    endpoint: text,
    upstream: text,
  },
  moving: { cost_micros: amount, cost_rest_pico: integer },
})

/** Sums of the requests of each API key that were pruned from Activity: their entries add up to them. */
export const PRUNED_REQUESTS = new Table('pruned_requests', {
  key: ['api_key_id'],
  fixed: {
    api_key_id: text,
    account_id: text,
    /** The number of pruned requests. */
    requests: integer,
    backed_charge_micros: amount,
    free_charge_micros: amount,
    written_off_micros: amount,
    /** When the latest of them was settled. */
    latest_settled_at_ms: integer,
  },
})

/** The sums of an API key's pruned requests. */
export type PrunedRequestsRow = RowOf<typeof PRUNED_REQUESTS>

/**
 * Groups of requests whose reported costs are all looked up, because one cost differed from the provider's record. A
 * group is one model, endpoint and kind of answer, or with an empty model and endpoint a whole upstream.
 */
export const LOOKUP_DOUBTS = new Table('lookup_doubts', {
  key: ['upstream', 'model_id', 'endpoint', 'stream'],
  fixed: {
    upstream: text,
    model_id: text,
    endpoint: text,
    stream: flag,
    /** The number of differences found. Ending the doubt names it, so that a newer difference is not lost. */
    differences: integer,
    opened_at_ms: integer,
  },
})

/**
 * Requests that were refused before their holds opened: only counts, nothing of the requests. Requests whose API key is
 * unknown belong to no account, and are not counted.
 */
export const REFUSALS = new Table('refusals', {
  key: ['account_id', 'hour', 'api_key_id', 'code'],
  fixed: {
    account_id: text,
    /** Hours since the Unix epoch. */
    hour: integer,
    api_key_id: text,
    /** The problem that was answered. */
    code: text,
  },
  moving: {
    /** The number of requests. */
    requests: integer,
    /** When the latest of them was answered. */
    latest_at_ms: integer,
  },
})

/** The refused requests of an API key in an hour that were answered with one code. */
export type RefusalRow = RowOf<typeof REFUSALS>

/** Sums of an account's entries up to every so many of them. A balance of the past is read from the nearest sum. */
const ENTRY_SUMS = new Table('entry_sums', {
  key: ['account_id', 'number'],
  fixed: {
    account_id: text,
    /** The number of the last entry in the sum. */
    number: integer,
    /** The sum of both purses. */
    sum_micros: amount,
  },
})

/** The tables of sums that are copied with a store. Each can be computed again from the rows that it sums. */
export const USAGE_TABLES = [
  ...([USAGE_HOURS, USAGE_DAYS, USAGE_ERRORS, USAGE_ROLLED] as const),
  ...([LATE_COSTS, ENTRY_SUMS] as const),
] as const
