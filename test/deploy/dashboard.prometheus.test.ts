import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { freePort } from '../../src/store/testing/free-port.ts'
import { worldOfEach } from '../world.ts'
import { ROOT } from './image-recipe.ts'

/** The queries of deploy/grafana-dashboard.json, asked of a Prometheus that reads a gateway's `/metrics`. */

const METRICS_TOKEN = 'metrics-token-of-the-test'

interface Panel {
  readonly type: string
  readonly title: string
  readonly fieldConfig?: { readonly defaults: { readonly noValue?: string } }
  readonly targets?: readonly { readonly expr: string }[]
}

const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  readFileSync(join(ROOT, 'deploy', 'grafana-dashboard.json'), 'utf8'),
)
const QUERIES = dashboard.panels.flatMap(({ title, fieldConfig, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    // Grafana puts the span of a few scrapes there.
    query: expr.replaceAll('$__rate_interval', '1m'),
    mayBeEmpty: fieldConfig?.defaults.noValue !== undefined,
  })),
)

let prometheus: { readonly address: string; stop(): Promise<void> }

const world = worldOfEach({ settings: { METRICS_TOKEN } })
beforeEach(async () => {
  prometheus = await startPrometheus()
})
afterEach(async () => {
  await prometheus.stop()
})

async function startPrometheus() {
  const file = join(world.folder, 'prometheus.yml')
  const port = await freePort()
  writeFileSync(
    file,
    `global: { scrape_interval: 1s }
scrape_configs:
  - job_name: tollgate
    authorization: { credentials: ${METRICS_TOKEN} }
    static_configs: [{ targets: ['${new URL(world.gateway.address).host}'] }]
`,
  )
  const child = spawn(
    inject('program'),
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(world.folder, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  return {
    address: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** The fault in the answer to a query; null: it has figures. */
async function faultOf({ title, query, mayBeEmpty }: (typeof QUERIES)[number]) {
  const url = `${prometheus.address}/api/v1/query?${new URLSearchParams({ query })}`
  const answer = await fetch(url).catch(() => null)
  if (answer === null) return `${title}: Prometheus does not answer yet`
  if (!answer.ok) return `${title}: ${query}: ${await answer.text()}`
  const { data }: { data: { result: readonly unknown[] } } = JSON.parse(await answer.text())
  return data.result.length > 0 || mayBeEmpty ? null : `${title}: ${query}: no figures`
}

test('every query of the dashboard has figures, except queries of faults', async () => {
  const account = await world.account()
  for (const body of [{}, { stream: true }, { model: 'sim/unknown' }]) {
    await (await world.chat(account.apiKey, body)).text()
  }
  expect(QUERIES.length).toBeGreaterThan(20)
  await expect
    .poll(async () => (await Promise.all(QUERIES.map(faultOf))).filter((fault) => fault !== null))
    .toEqual([])
})
