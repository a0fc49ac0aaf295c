import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Makes rows of a kind. By position: the labels of a metric, and its description. */
const rowsOf =
  <const Kind extends 'counter' | 'gauge' | 'histogram'>(kind: Kind) =>
  <const Labels extends readonly string[]>(labels: Labels, help: string) => ({ kind, labels, help })

const counter = rowsOf('counter')
const gauge = rowsOf('gauge')
const histogram = rowsOf('histogram')

/**
 * Every metric of the gateway's own; `npm run docs` writes `docs/metrics.md` from it. A label's values are a
 * closed set or ids of the catalog, never text that a client sent.
 */
export const METRICS = {
  tollgate_build_info: gauge(
    ['version', 'mode'],
    'Always 1; the labels have the version and the mode.',
  ),
  tollgate_ready: gauge(['check'], 'Whether a check of /readyz passes: 1 or 0.'),
  tollgate_requests_total: counter(
    ['endpoint', 'model', 'status', 'state', 'upstream'],
    'Inference requests that have ended.',
  ),
  tollgate_refusals_total: counter(
    ['endpoint', 'code'],
    'Inference requests that were answered with an error.',
  ),
  tollgate_time_to_first_byte_seconds: histogram(
    ['endpoint', 'stream', 'upstream'],
    "From a request's arrival to the provider's first byte.",
  ),
  tollgate_request_duration_seconds: histogram(
    ['endpoint', 'stream', 'upstream'],
    "From a request's arrival to the end of its answer, for requests with a hold.",
  ),
  tollgate_requests_in_flight: gauge([], 'Inference requests in flight.'),
  tollgate_tokens_total: counter(
    ['model', 'kind'],
    'Tokens that the provider reported; each counts under one kind.',
  ),
  tollgate_charges_dollars_total: counter(
    ['model'],
    'Charges of requests at their end, fee included.',
  ),
  tollgate_corrections_dollars_total: counter(
    ['direction'],
    'Corrections of charges by reconciliation.',
  ),
  tollgate_overruns_total: counter(['kind'], 'Charges above their holds.'),
  tollgate_overrun_dollars_total: counter(
    ['kind'],
    'The amount by which charges exceeded their holds.',
  ),
  tollgate_holds: gauge(['state'], 'Holds in the store that are not settled yet.'),
  tollgate_oldest_hold_age_seconds: gauge(
    ['state'],
    'Age of the oldest hold that is not settled; 0 without one.',
  ),
  tollgate_reconciled_total: counter(['outcome'], 'Requests that reconciliation settled.'),
  tollgate_reconcile_failures_total: counter(
    ['of'],
    'Look-ups and store queries of the reconciler that failed.',
  ),
  tollgate_streams_left_early_total: counter(
    ['call'],
    'Streams whose client left before the headers or, at upstreams without look-ups, before the counts; the label says whether the gateway read on.',
  ),
  tollgate_uncharged_requests_total: counter(
    [],
    'Requests that were released although the provider billed them.',
  ),
  tollgate_uncharged_dollars_total: counter(
    [],
    'The amount that the provider billed for released requests.',
  ),
  tollgate_lookups_doubted_total: counter(
    ['doubt'],
    "Look-ups whose record was doubted; the request's charge is unchanged.",
  ),
  tollgate_doubted_costs: gauge(
    [],
    'Models (by endpoint and kind of answer) whose reported costs are all looked up, because one was wrong; a whole provider counts as one.',
  ),
  tollgate_key_usage_comparisons_total: counter(
    ['outcome'],
    "Comparisons of the provider's record of the key's usage with the booked costs.",
  ),
  tollgate_reconcile_waiting: gauge(
    [],
    'Requests in memory that are waiting for their next look-up.',
  ),
  tollgate_reconcile_lag_seconds: gauge([], 'Delay of the most overdue look-up.'),
  tollgate_commit_commands: histogram([], 'Ledger commands in one commit.'),
  tollgate_commit_duration_seconds: histogram([], 'Duration of ledger commits.'),
  tollgate_commit_failures_total: counter([], 'Ledger commits that failed.'),
  tollgate_store_went_back_total: counter(
    [],
    'How often the database had lost commits that it had confirmed to this server.',
  ),
  tollgate_commands_rebooked_total: counter(
    ['outcome'],
    'Commands of lost commits, booked again or lost.',
  ),
  tollgate_store_standby: gauge(
    ['kind'],
    'How standbys follow the PostgreSQL server: 1 for the kind that applies (synchronous, asynchronous or none), 0 for the others.',
  ),
  tollgate_catalog_models: gauge([], 'Models in the catalog.'),
  tollgate_catalog_age_seconds: gauge(['upstream'], "Age of an upstream's newest prices."),
  tollgate_catalog_refreshes_total: counter(
    ['outcome', 'upstream'],
    "Refreshes of an upstream's models.",
  ),
  tollgate_endpoint_price_reads_total: counter(
    ['outcome'],
    "Reads of the prices of a model's providers.",
  ),
  tollgate_upstream_account_refused: gauge(
    ['upstream'],
    "Whether an upstream last refused the gateway's account: 1 or 0.",
  ),
  tollgate_upstream_credit_dollars: gauge(
    ['upstream'],
    "The rest of the limit of the gateway's key, at upstreams that report it.",
  ),
  tollgate_purchases: gauge(['method', 'state'], 'Purchases of credit in the store.'),
  tollgate_purchase_dollars: gauge(
    ['method', 'state'],
    'The credit of these purchases, less refunds and disputes.',
  ),
  tollgate_sale_look_age_seconds: gauge(
    ['source'],
    'Time since a source of payments was last read successfully.',
  ),
  tollgate_chain_looks_total: counter(['outcome'], 'Searches of the chain for deposits.'),
  tollgate_chain_node_failures_total: counter(
    ['node'],
    'Calls that a node of the chain did not answer, or answered with impossible values.',
  ),
  tollgate_chain_lag_blocks: gauge(
    [],
    'Final blocks that the latest successful search left for the next one.',
  ),
  tollgate_chain_tokens_waiting: gauge(
    [],
    'Tokens whose deposits are waiting, because the token has no rate or nodes disagree on its blocks.',
  ),
  tollgate_webhook_attempts_total: counter(
    ['event', 'outcome'],
    'Attempts to send a message to a webhook, by outcome: delivered, retried or failed for good.',
  ),
  tollgate_buffer_bytes: gauge(
    [],
    'Memory used by request bodies and answers that are not streamed.',
  ),
  tollgate_buffer_limit_bytes: gauge([], 'The limit of that memory.'),
}

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
  const counterOf = <Name extends NameOfKind<'counter'>>(name: Name) =>
    new Counter<LabelOf<Name>>(described(name))
  const gaugeOf = <Name extends NameOfKind<'gauge'>>(name: Name) =>
    new Gauge<LabelOf<Name>>(described(name))
  const histogramOf = <Name extends NameOfKind<'histogram'>>(name: Name, buckets: number[]) =>
    new Histogram<LabelOf<Name>>({ ...described(name), buckets })
  return {
    buildInfo: gaugeOf('tollgate_build_info'),
    ready: gaugeOf('tollgate_ready'),
    requests: counterOf('tollgate_requests_total'),
    refusals: counterOf('tollgate_refusals_total'),
    timeToFirstByte: histogramOf('tollgate_time_to_first_byte_seconds', REQUEST_BUCKETS),
    requestDuration: histogramOf('tollgate_request_duration_seconds', REQUEST_BUCKETS),
    requestsInFlight: gaugeOf('tollgate_requests_in_flight'),
    tokens: counterOf('tollgate_tokens_total'),
    charges: counterOf('tollgate_charges_dollars_total'),
    corrections: counterOf('tollgate_corrections_dollars_total'),
    overruns: counterOf('tollgate_overruns_total'),
    overrunDollars: counterOf('tollgate_overrun_dollars_total'),
    holds: gaugeOf('tollgate_holds'),
    oldestHoldAge: gaugeOf('tollgate_oldest_hold_age_seconds'),
    reconciled: counterOf('tollgate_reconciled_total'),
    reconcileFailures: counterOf('tollgate_reconcile_failures_total'),
    streamsLeftEarly: counterOf('tollgate_streams_left_early_total'),
    unchargedRequests: counterOf('tollgate_uncharged_requests_total'),
    unchargedDollars: counterOf('tollgate_uncharged_dollars_total'),
    lookupsDoubted: counterOf('tollgate_lookups_doubted_total'),
    doubtedCosts: gaugeOf('tollgate_doubted_costs'),
    keyUsage: counterOf('tollgate_key_usage_comparisons_total'),
    reconcileWaiting: gaugeOf('tollgate_reconcile_waiting'),
    reconcileLag: gaugeOf('tollgate_reconcile_lag_seconds'),
    commitCommands: histogramOf('tollgate_commit_commands', COMMAND_BUCKETS),
    commitDuration: histogramOf('tollgate_commit_duration_seconds', COMMIT_BUCKETS),
    commitFailures: counterOf('tollgate_commit_failures_total'),
    storeWentBack: counterOf('tollgate_store_went_back_total'),
    commandsRebooked: counterOf('tollgate_commands_rebooked_total'),
    storeStandby: gaugeOf('tollgate_store_standby'),
    catalogModels: gaugeOf('tollgate_catalog_models'),
    catalogAge: gaugeOf('tollgate_catalog_age_seconds'),
    catalogRefreshes: counterOf('tollgate_catalog_refreshes_total'),
    endpointPriceReads: counterOf('tollgate_endpoint_price_reads_total'),
    upstreamAccountRefused: gaugeOf('tollgate_upstream_account_refused'),
    upstreamCredit: gaugeOf('tollgate_upstream_credit_dollars'),
    purchases: gaugeOf('tollgate_purchases'),
    purchaseDollars: gaugeOf('tollgate_purchase_dollars'),
    saleLookAge: gaugeOf('tollgate_sale_look_age_seconds'),
    chainLooks: counterOf('tollgate_chain_looks_total'),
    chainNodeFailures: counterOf('tollgate_chain_node_failures_total'),
    chainLag: gaugeOf('tollgate_chain_lag_blocks'),
    chainTokensWaiting: gaugeOf('tollgate_chain_tokens_waiting'),
    webhookAttempts: counterOf('tollgate_webhook_attempts_total'),
    bufferBytes: gaugeOf('tollgate_buffer_bytes'),
    bufferLimit: gaugeOf('tollgate_buffer_limit_bytes'),
  }
}

/** Every metric of the table, registered. */
export type OwnMetrics = ReturnType<typeof makeOwnMetrics>
