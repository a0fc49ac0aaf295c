/** What one metric is. */
export interface MetricRow {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
  /** How the figures of several threads become one; default: they are added up. */
  readonly ofThreads?: 'max' | 'min'
}

/**
 * Every metric of the gateway's own; `docs/metrics.md` is its twin. Each label has a closed set of
 * values, or ids of the catalog: never what a client wrote.
 */
export const METRICS = {
  tollgate_build_info: {
    kind: 'gauge',
    labels: ['version', 'mode'],
    help: 'Always 1; the labels say what runs.',
    ofThreads: 'max',
  },
  tollgate_ready: {
    kind: 'gauge',
    labels: ['check'],
    help: 'Whether a check of /readyz holds: 1 or 0.',
    ofThreads: 'min',
  },
  tollgate_requests_total: {
    kind: 'counter',
    labels: ['endpoint', 'model', 'status', 'state'],
    help: 'Inference requests that have ended.',
  },
  tollgate_refusals_total: {
    kind: 'counter',
    labels: ['endpoint', 'code'],
    help: 'Inference requests that were answered with an error.',
  },
  tollgate_time_to_first_byte_seconds: {
    kind: 'histogram',
    labels: ['endpoint', 'stream'],
    help: "From a request's arrival to the provider's first byte.",
  },
  tollgate_request_duration_seconds: {
    kind: 'histogram',
    labels: ['endpoint', 'stream'],
    help: "From a request's arrival to its answer's end, where a hold was opened.",
  },
  tollgate_requests_in_flight: {
    kind: 'gauge',
    labels: [],
    help: 'Inference requests whose answers have not ended.',
  },
  tollgate_tokens_total: {
    kind: 'counter',
    labels: ['model', 'kind'],
    help: 'Tokens that the provider reported, each of one kind.',
  },
  tollgate_charges_dollars_total: {
    kind: 'counter',
    labels: ['model'],
    help: 'What requests were charged when they ended, fee included.',
  },
  tollgate_corrections_dollars_total: {
    kind: 'counter',
    labels: ['direction'],
    help: 'What charges were corrected by when requests were reconciled.',
  },
  tollgate_overruns_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'Charges above their holds.',
  },
  tollgate_overrun_dollars_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'What charges exceeded their holds by.',
  },
  tollgate_holds: {
    kind: 'gauge',
    labels: ['state'],
    help: 'Holds in the store that are not settled.',
    ofThreads: 'max',
  },
  tollgate_oldest_hold_age_seconds: {
    kind: 'gauge',
    labels: ['state'],
    help: 'Age of the oldest such hold; 0 where there is none.',
    ofThreads: 'max',
  },
  tollgate_reconciled_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Requests that were settled by a second look.',
  },
  tollgate_reconcile_failures_total: {
    kind: 'counter',
    labels: ['of'],
    help: 'Questions of the reconciler that were not answered.',
  },
  tollgate_streams_left_early_total: {
    kind: 'counter',
    labels: ['call'],
    help: "Streams whose clients left before the headers, by what became of the provider's call.",
  },
  tollgate_uncharged_requests_total: {
    kind: 'counter',
    labels: [],
    help: 'Requests that were released and that the provider billed all the same.',
  },
  tollgate_uncharged_dollars_total: {
    kind: 'counter',
    labels: [],
    help: 'What the provider billed for them.',
  },
  tollgate_lookups_doubted_total: {
    kind: 'counter',
    labels: ['doubt'],
    help: "Look-ups whose answer was not believed; the request's charge stays as it was.",
  },
  tollgate_reconcile_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Requests that the reconciler keeps in mind until their next look-up.',
  },
  tollgate_reconcile_lag_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'How late the look-up that is due first is.',
    ofThreads: 'max',
  },
  tollgate_commit_commands: {
    kind: 'histogram',
    labels: [],
    help: 'Commands of the ledger that shared a commit.',
  },
  tollgate_commit_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'How long commits of the ledger took.',
  },
  tollgate_commit_failures_total: {
    kind: 'counter',
    labels: [],
    help: 'Commits of the ledger that failed.',
  },
  tollgate_catalog_models: {
    kind: 'gauge',
    labels: [],
    help: 'Models in the catalog.',
    ofThreads: 'max',
  },
  tollgate_catalog_age_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'Age of the youngest prices.',
    ofThreads: 'max',
  },
  tollgate_catalog_refreshes_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Refreshes of the catalog.',
  },
  tollgate_endpoint_price_reads_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: "Readings of what a model's providers ask.",
  },
  tollgate_upstream_account_refused: {
    kind: 'gauge',
    labels: [],
    help: "Whether the provider's last word about the gateway's account was a refusal: 1 or 0.",
    ofThreads: 'max',
  },
  tollgate_buffer_bytes: {
    kind: 'gauge',
    labels: [],
    help: 'Memory that request bodies and whole answers take.',
  },
  tollgate_buffer_limit_bytes: {
    kind: 'gauge',
    labels: [],
    help: 'The most that they may take.',
    ofThreads: 'max',
  },
} as const satisfies Record<string, MetricRow>

/** The name of a metric of the gateway's own. */
export type MetricName = keyof typeof METRICS

/** The label names of a metric. */
export type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number]
