import type { MetricsSnapshot } from './metrics.ts'

// A stalled event loop must not hide among others that are not.
const OF_THE_WORST_PROCESS = /^nodejs_eventloop_lag/

/**
 * One page of the metrics of several processes. A process that ends leaves its counters behind, so that no
 * sum falls: a counter that falls looks like a restart.
 */
export class SumMetrics {
  /** The counters of ended processes: those before the last page summed up, later ones one by one. */
  readonly #left: MetricsSnapshot[] = []

  /** The sum of these and of all that ended processes left, in the text format of Prometheus. One at a time. */
  async page(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    // A process may end meanwhile, and what it left counts from the next page.
    const left = [...this.#left]
    const page = await sumOf([...snapshots, ...left])
    if (left.length > 1) {
      const sum = await sumOf(left)
      this.#left.splice(0, left.length, await sum.getMetricsAsJSON())
    }
    return page.metrics()
  }

  /** Keeps the counters of a worker that has ended, from its latest snapshot. */
  workerEnded(last: MetricsSnapshot): void {
    // Its type is an enumeration in the types, and its name in what is really there.
    this.#left.push(last.filter(({ type }) => ['counter', 'histogram'].includes(String(type))))
  }
}

async function sumOf(snapshots: readonly MetricsSnapshot[]) {
  // Loaded where there are metrics to add: a server without any starts quicker, in less memory.
  const { AggregatorRegistry } = await import('prom-client')
  const summed = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      OF_THE_WORST_PROCESS.test(metric.name) ? { ...metric, aggregator: 'max' as const } : metric,
    ),
  )
  return AggregatorRegistry.aggregate(summed)
}
