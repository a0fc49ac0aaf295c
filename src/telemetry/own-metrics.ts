import { type Aggregator, Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type LabelOf, METRICS, type MetricName, type MetricRow } from './metric-table.ts'

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
    const { help, ofProcesses }: MetricRow = METRICS[name]
    const aggregator: Aggregator = ofProcesses ?? 'sum'
    const labelNames: readonly LabelOf<Name>[] = METRICS[name].labels
    return { name, help, labelNames, aggregator, registers: [registry] }
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
    reconcileWaiting: gauge('tollgate_reconcile_waiting'),
    reconcileLag: gauge('tollgate_reconcile_lag_seconds'),
    commitCommands: histogram('tollgate_commit_commands', COMMAND_BUCKETS),
    commitDuration: histogram('tollgate_commit_duration_seconds', COMMIT_BUCKETS),
    commitFailures: counter('tollgate_commit_failures_total'),
    catalogModels: gauge('tollgate_catalog_models'),
    catalogAge: gauge('tollgate_catalog_age_seconds'),
    catalogRefreshes: counter('tollgate_catalog_refreshes_total'),
    endpointPriceReads: counter('tollgate_endpoint_price_reads_total'),
    upstreamAccountRefused: gauge('tollgate_upstream_account_refused'),
    bufferBytes: gauge('tollgate_buffer_bytes'),
    bufferLimit: gauge('tollgate_buffer_limit_bytes'),
  }
}

/** Every metric of the table, registered. */
export type OwnMetrics = ReturnType<typeof makeOwnMetrics>
