import type { MetricsSnapshot } from './metrics.ts'

// Of these figures the largest counts: a stalled event loop must not disappear in a sum or an average.
const OF_THE_WORST_PROCESS = /^nodejs_eventloop_lag/

/**
 * Sums the metrics of several processes. The counters of a process that has ended stay in the sum, because
 * Prometheus takes a falling counter for a restart.
 */
export class SumMetrics {
  /** The counters of ended processes: one sum up to the last page, then one snapshot each. */
  readonly #left: MetricsSnapshot[] = []

  /**
   * The sum of these snapshots and of the ended processes' counters, in the text format of Prometheus.
   * Not to be called again before it has resolved.
   */
  async page(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    // The counters of a process that ends meanwhile are on the next page.
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
    // prom-client declares the type as an enum; at run time it is the name.
    this.#left.push(last.filter(({ type }) => ['counter', 'histogram'].includes(String(type))))
  }
}

async function sumOf(snapshots: readonly MetricsSnapshot[]) {
  // Loaded on use: a server without metrics starts faster and needs less memory.
  const { AggregatorRegistry } = await import('prom-client')
  const summed = snapshots.map((snapshot) =>
    snapshot.map((metric) =>
      OF_THE_WORST_PROCESS.test(metric.name) ? { ...metric, aggregator: 'max' as const } : metric,
    ),
  )
  return AggregatorRegistry.aggregate(summed)
}
