import { AggregatorRegistry } from 'prom-client'
import type { MetricsSnapshot } from './metrics.ts'

// A stalled thread is not to hide among others that are not.
const OF_THE_WORST_THREAD = /^nodejs_eventloop_lag/

/**
 * One page of the metrics of several threads. A thread that ends leaves its counters behind, so that no
 * sum falls: a counter that falls looks like a restart.
 */
export class SumMetrics {
  #left: MetricsSnapshot = []

  /** The sum of these and of all that threads left, in the text format of Prometheus. */
  page(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    return sumOf([...snapshots, this.#left]).metrics()
  }

  /** Keeps the counters of a thread that has ended, as it told them last. */
  async threadEnded(last: MetricsSnapshot): Promise<void> {
    // Its type is an enumeration in the types, and its name in what is really there.
    const counters = last.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))
    this.#left = await sumOf([this.#left, counters]).getMetricsAsJSON()
  }
}

function sumOf(snapshots: readonly MetricsSnapshot[]) {
  const summed = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      OF_THE_WORST_THREAD.test(metric.name) ? { ...metric, aggregator: 'max' as const } : metric,
    ),
  )
  return AggregatorRegistry.aggregate(summed)
}
