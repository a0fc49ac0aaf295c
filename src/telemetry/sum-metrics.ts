import { AggregatorRegistry } from 'prom-client'
import type { MetricsSnapshot } from './metrics.ts'

// A stalled thread is not to hide among others that are not.
const OF_THE_WORST_THREAD = /^nodejs_eventloop_lag/

/**
 * One page of the metrics of several threads. A thread that ends leaves its counters behind, so that no
 * sum falls: a counter that falls looks like a restart.
 */
export class SumMetrics {
  /** What threads left, summed up to the last page and one by one since then. */
  readonly #left: MetricsSnapshot[] = []

  /** The sum of these and of all that threads left, in the text format of Prometheus. One at a time. */
  async page(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    const page = sumOf([...snapshots, ...this.#left])
    const ended = this.#left.length
    if (ended > 1) this.#left.splice(0, ended, await sumOf(this.#left).getMetricsAsJSON())
    return page.metrics()
  }

  /** Keeps the counters of a thread that has ended, as it told them last. */
  threadEnded(last: MetricsSnapshot): void {
    // Its type is an enumeration in the types, and its name in what is really there.
    this.#left.push(last.filter(({ type }) => ['counter', 'histogram'].includes(String(type))))
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
