import { expect, test } from 'vitest'
import { Metrics } from './metrics.ts'
import { SumMetrics } from './sum-metrics.ts'

const COMMIT = { commands: 3, durationMs: 2, outcome: 'unavailable', failure: 'away' } as const

function metricsOf(commits: number): Metrics {
  const metrics = new Metrics({ version: '1', mode: 'live' })
  for (let count = 0; count < commits; count++) metrics.committed(COMMIT)
  return metrics
}

function read(page: string, series: string): number[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${series} `) || line.startsWith(`${series}{`))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))))
}

test('counters and histograms of all processes are added up; figures of the whole server are not', async () => {
  const processes = [metricsOf(0), metricsOf(2), metricsOf(3)]
  const snapshots = await Promise.all(processes.map((metrics) => metrics.snapshot()))
  // Snapshots of other processes arrive as copies.
  const page = await new SumMetrics().page(structuredClone(snapshots))
  expect(read(page, 'tollgate_commit_failures_total')).toEqual([5])
  expect(read(page, 'tollgate_commit_commands_sum')).toEqual([15])
  expect(read(page, 'tollgate_commit_commands_bucket{le="4"}')).toEqual([5])
  expect(read(page, 'tollgate_build_info')).toEqual([1])
  expect(read(page, 'process_resident_memory_bytes')).toHaveLength(1)
  expect(read(page, 'nodejs_eventloop_lag_seconds')).toHaveLength(1)
})

test('an ended process leaves its counters and no gauges', async () => {
  const sum = new SumMetrics()
  const left = metricsOf(2)
  sum.workerEnded(await left.snapshot())
  sum.workerEnded(await metricsOf(3).snapshot())
  const snapshots = [await metricsOf(1).snapshot()]
  const page = await sum.page(snapshots)
  expect(read(await sum.page(snapshots), 'tollgate_commit_failures_total')).toEqual([6])
  expect(read(page, 'tollgate_commit_failures_total')).toEqual([6])
  expect(read(page, 'tollgate_commit_commands_count')).toEqual([6])
  const [heapBytes = 0] = read(page, 'nodejs_heap_size_total_bytes')
  expect(heapBytes).toBeLessThan(2 * process.memoryUsage().heapTotal)
})

test('the counters of a process that ends while a page is made appear once, on the next page', async () => {
  const sum = new SumMetrics()
  sum.workerEnded(await metricsOf(2).snapshot())
  sum.workerEnded(await metricsOf(3).snapshot())
  const last = await metricsOf(4).snapshot()
  const page = sum.page([])
  sum.workerEnded(last)
  expect(read(await page, 'tollgate_commit_failures_total')).toEqual([5])
  expect(read(await sum.page([]), 'tollgate_commit_failures_total')).toEqual([9])
})
