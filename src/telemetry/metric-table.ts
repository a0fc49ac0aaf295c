import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

interface MetricRow {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/**
 * Every metric of the gateway's own; `npm run docs` writes `docs/metrics.md` from it. A label's values are a
 * closed set or ids of the catalog, never text that a client sent.
 */
export const METRICS = {
  tollgate_build_info: {
    kind: 'gauge',
    labels: ['version', 'mode'],
    help: 'Always 1; the labels have the version and the mode.',
  },
  tollgate_ready: {
    kind: 'gauge',
    labels: ['check'],
    help: 'Whether a check of /readyz passes: 1 or 0.',
  },
  tollgate_requests_total: {
    kind: 'counter',
    labels: ['endpoint', 'model', 'status', 'state', 'upstream'],
    help: 'Inference requests that have ended.',
  },
  tollgate_refusals_total: {
    kind: 'counter',
    labels: ['endpoint', 'code'],
    help: 'Inference requests that were answered with an error.',
  },
  tollgate_time_to_first_byte_seconds: {
    kind: 'histogram',
    labels: ['endpoint', 'stream', 'upstream'],
    help: "From a request's arrival to the provider's first byte.",
  },
  tollgate_request_duration_seconds: {
    kind: 'histogram',
    labels: ['endpoint', 'stream', 'upstream'],
    help: "From a request's arrival to the end of its answer, for requests with a hold.",
  },
  tollgate_requests_in_flight: {
    kind: 'gauge',
    labels: [],
    help: 'Inference requests in flight.',
  },
  tollgate_tokens_total: {
    kind: 'counter',
    labels: ['model', 'kind'],
    help: 'Tokens that the provider reported; each counts under one kind.',
  },
  tollgate_charges_dollars_total: {
    kind: 'counter',
    labels: ['model'],
    help: 'Charges of requests at their end, fee included.',
  },
  tollgate_corrections_dollars_total: {
    kind: 'counter',
    labels: ['direction'],
    help: 'Corrections of charges by reconciliation.',
  },
  tollgate_overruns_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'Charges above their holds.',
  },
  tollgate_overrun_dollars_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'The amount by which charges exceeded their holds.',
  },
  tollgate_holds: {
    kind: 'gauge',
    labels: ['state'],
    help: 'Holds in the store that are not settled yet.',
  },
  tollgate_oldest_hold_age_seconds: {
    kind: 'gauge',
    labels: ['state'],
    help: 'Age of the oldest hold that is not settled; 0 without one.',
  },
  tollgate_reconciled_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Requests that reconciliation settled.',
  },
  tollgate_reconcile_failures_total: {
    kind: 'counter',
    labels: ['of'],
    help: 'Look-ups and store queries of the reconciler that failed.',
  },
  tollgate_streams_left_early_total: {
    kind: 'counter',
    labels: ['call'],
    help: 'Streams whose client left before the headers or, at upstreams without look-ups, before the counts; the label says whether the gateway read on.',
  },
  tollgate_uncharged_requests_total: {
    kind: 'counter',
    labels: [],
    help: 'Requests that were released although the provider billed them.',
  },
  tollgate_uncharged_dollars_total: {
    kind: 'counter',
    labels: [],
    help: 'The amount that the provider billed for released requests.',
  },
  tollgate_lookups_doubted_total: {
    kind: 'counter',
    labels: ['doubt'],
    help: "Look-ups whose record was doubted; the request's charge is unchanged.",
  },
  tollgate_doubted_costs: {
    kind: 'gauge',
    labels: [],
    help: 'Models (by endpoint and kind of answer) whose reported costs are all looked up, because one was wrong; a whole provider counts as one.',
  },
  tollgate_key_usage_comparisons_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: "Comparisons of the provider's record of the key's usage with the booked costs.",
  },
  tollgate_reconcile_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Requests in memory that are waiting for their next look-up.',
  },
  tollgate_reconcile_lag_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'Delay of the most overdue look-up.',
  },
  tollgate_commit_commands: {
    kind: 'histogram',
    labels: [],
    help: 'Ledger commands in one commit.',
  },
  tollgate_commit_duration_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Duration of ledger commits.',
  },
  tollgate_commit_failures_total: {
    kind: 'counter',
    labels: [],
    help: 'Ledger commits that failed.',
  },
  tollgate_store_went_back_total: {
    kind: 'counter',
    labels: [],
    help: 'How often the database had lost commits that it had confirmed to this server.',
  },
  tollgate_commands_rebooked_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Commands of lost commits, booked again or lost.',
  },
  tollgate_store_standby: {
    kind: 'gauge',
    labels: ['kind'],
    help: 'How standbys follow the PostgreSQL server: 1 for the kind that applies (synchronous, asynchronous or none), 0 for the others.',
  },
  tollgate_catalog_models: {
    kind: 'gauge',
    labels: [],
    help: 'Models in the catalog.',
  },
  tollgate_catalog_age_seconds: {
    kind: 'gauge',
    labels: ['upstream'],
    help: "Age of an upstream's newest prices.",
  },
  tollgate_catalog_refreshes_total: {
    kind: 'counter',
    labels: ['outcome', 'upstream'],
    help: "Refreshes of an upstream's models.",
  },
  tollgate_endpoint_price_reads_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: "Reads of the prices of a model's providers.",
  },
  tollgate_upstream_account_refused: {
    kind: 'gauge',
    labels: ['upstream'],
    help: "Whether an upstream last refused the gateway's account: 1 or 0.",
  },
  tollgate_upstream_credit_dollars: {
    kind: 'gauge',
    labels: ['upstream'],
    help: "The rest of the limit of the gateway's key, at upstreams that report it.",
  },
  tollgate_purchases: {
    kind: 'gauge',
    labels: ['method', 'state'],
    help: 'Purchases of credit in the store.',
  },
  tollgate_purchase_dollars: {
    kind: 'gauge',
    labels: ['method', 'state'],
    help: 'The credit of these purchases, less refunds and disputes.',
  },
  tollgate_sale_look_age_seconds: {
    kind: 'gauge',
    labels: ['source'],
    help: 'Time since a source of payments was last read successfully.',
  },
  tollgate_chain_looks_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Searches of the chain for deposits.',
  },
  tollgate_chain_node_failures_total: {
    kind: 'counter',
    labels: ['node'],
    help: 'Calls that a node of the chain did not answer, or answered with impossible values.',
  },
  tollgate_chain_lag_blocks: {
    kind: 'gauge',
    labels: [],
    help: 'Final blocks that the latest successful search left for the next one.',
  },
  tollgate_chain_tokens_waiting: {
    kind: 'gauge',
    labels: [],
    help: 'Tokens whose deposits are waiting, because the token has no rate or nodes disagree on its blocks.',
  },
  tollgate_webhook_attempts_total: {
    kind: 'counter',
    labels: ['event', 'outcome'],
    help: 'Attempts to send a message to a webhook, by outcome: delivered, retried or failed for good.',
  },
  tollgate_buffer_bytes: {
    kind: 'gauge',
    labels: [],
    help: 'Memory used by request bodies and answers that are not streamed.',
  },
  tollgate_buffer_limit_bytes: {
    kind: 'gauge',
    labels: [],
    help: 'The limit of that memory.',
  },
} as const satisfies Record<string, MetricRow>

type MetricName = keyof typeof METRICS

type LabelOf<Name extends MetricName> = (typeof METRICS)[Name]['labels'][number]

type NameOfKind<Kind extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never
}[MetricName]

// A first byte may take minutes, and an answer a quarter of an hour.
const REQUEST_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900,
]
const COMMAND_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
const COMMIT_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Registers every metric of the table. */
export function makeOwnMetrics(registry: Registry) {
  const described = <Name extends MetricName>(name: Name) => {
    const { help } = METRICS[name]
    const labelNames: readonly LabelOf<Name>[] = METRICS[name].labels
    return { name, help, labelNames, registers: [registry] }
  }
  const counter = <Name extends NameOfKind<'counter'>>(name: Name) =>
    new Counter<LabelOf<Name>>(described(name))
  const gauge = <Name extends NameOfKind<'gauge'>>(name: Name) =>
    new Gauge<LabelOf<Name>>(described(name))
  const histogram = <Name extends NameOfKind<'histogram'>>(name: Name, buckets: number[]) =>
    new Histogram<LabelOf<Name>>({ ...described(name), buckets })
  return {
    buildInfo: gauge('tollgate_build_info'),
    ready: gauge('tollgate_ready'),
    requests: counter('tollgate_requests_total'),
    refusals: counter('tollgate_refusals_total'),
    timeToFirstByte: histogram('tollgate_time_to_first_byte_seconds', REQUEST_BUCKETS),
    requestDuration: histogram('tollgate_request_duration_seconds', REQUEST_BUCKETS),
    requestsInFlight: gauge('tollgate_requests_in_flight'),
    tokens: counter('tollgate_tokens_total'),
    charges: counter('tollgate_charges_dollars_total'),
    corrections: counter('tollgate_corrections_dollars_total'),
    overruns: counter('tollgate_overruns_total'),
    overrunDollars: counter('tollgate_overrun_dollars_total'),
    holds: gauge('tollgate_holds'),
    oldestHoldAge: gauge('tollgate_oldest_hold_age_seconds'),
    reconciled: counter('tollgate_reconciled_total'),
    reconcileFailures: counter('tollgate_reconcile_failures_total'),
    streamsLeftEarly: counter('tollgate_streams_left_early_total'),
    unchargedRequests: counter('tollgate_uncharged_requests_total'),
    unchargedDollars: counter('tollgate_uncharged_dollars_total'),
    lookupsDoubted: counter('tollgate_lookups_doubted_total'),
    doubtedCosts: gauge('tollgate_doubted_costs'),
    keyUsage: counter('tollgate_key_usage_comparisons_total'),
    reconcileWaiting: gauge('tollgate_reconcile_waiting'),
    reconcileLag: gauge('tollgate_reconcile_lag_seconds'),
    commitCommands: histogram('tollgate_commit_commands', COMMAND_BUCKETS),
    commitDuration: histogram('tollgate_commit_duration_seconds', COMMIT_BUCKETS),
    commitFailures: counter('tollgate_commit_failures_total'),
    storeWentBack: counter('tollgate_store_went_back_total'),
    commandsRebooked: counter('tollgate_commands_rebooked_total'),
    storeStandby: gauge('tollgate_store_standby'),
    catalogModels: gauge('tollgate_catalog_models'),
    catalogAge: gauge('tollgate_catalog_age_seconds'),
    catalogRefreshes: counter('tollgate_catalog_refreshes_total'),
    endpointPriceReads: counter('tollgate_endpoint_price_reads_total'),
    upstreamAccountRefused: gauge('tollgate_upstream_account_refused'),
    upstreamCredit: gauge('tollgate_upstream_credit_dollars'),
    purchases: gauge('tollgate_purchases'),
    purchaseDollars: gauge('tollgate_purchase_dollars'),
    saleLookAge: gauge('tollgate_sale_look_age_seconds'),
    chainLooks: counter('tollgate_chain_looks_total'),
    chainNodeFailures: counter('tollgate_chain_node_failures_total'),
    chainLag: gauge('tollgate_chain_lag_blocks'),
    chainTokensWaiting: gauge('tollgate_chain_tokens_waiting'),
    webhookAttempts: counter('tollgate_webhook_attempts_total'),
    bufferBytes: gauge('tollgate_buffer_bytes'),
    bufferLimit: gauge('tollgate_buffer_limit_bytes'),
  }
}

/** Every metric of the table, registered. */
export type OwnMetrics = ReturnType<typeof makeOwnMetrics>
