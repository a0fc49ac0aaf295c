import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CatalogRow } from '../../simulator/catalog.ts'
import { type Simulator, startSimulator } from '../../simulator/simulator.ts'
import { type VendorName, vendorId } from '../../simulator/vendors.ts'
import type { RequestRow } from '../../src/store/schema.ts'
import type { TestDatabase } from '../../src/store/testing/test-databases.ts'
import { type CrashBench, openCrashBench } from '../crash/crash-bench.ts'
import type { ServeProcess } from '../tollgate-process.ts'
import { hasOnePrice, SPOKEN } from './vendor-settings.ts'

/** The upstreams of the file, in its order: a name for each dialect. */
export const UPSTREAM_NAMES = ['openai', 'anthropic', 'local', 'openrouter'] as const
export type UpstreamName = (typeof UPSTREAM_NAMES)[number]

const VENDORS: readonly (readonly [UpstreamName, VendorName])[] = [
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['local', 'openai-compatible'],
]

/** `tollgate serve` in processes of its own, on a file of four upstreams, each a simulator of its dialect. */
export interface FourUpstreams {
  readonly bench: CrashBench
  readonly simulators: Readonly<Record<UpstreamName, Simulator>>
  /** Starts a gateway; `settings` go over its environment. */
  serve(settings?: Readonly<Record<string, string>>): Promise<ServeProcess>
  /** Starts a gateway whose file lacks the upstream of this name. */
  serveWithout(
    name: UpstreamName,
    settings?: Readonly<Record<string, string>>,
  ): Promise<ServeProcess>
  /** A key, each time the next one, so that no key has many requests at once. */
  nextKey(): string
  /** The provider's own cost of the inference whose prompt has this mark, with the fee. */
  chargeDue(upstream: UpstreamName, mark: string): number
  /** The stored request of this id, once it has one of these states. */
  settledRow(requestId: string, states: readonly RequestRow['state'][]): Promise<RequestRow>
  close(): Promise<void>
}

export async function openFourUpstreams(
  createDatabase: () => Promise<TestDatabase>,
): Promise<FourUpstreams> {
  const bench = await openCrashBench({ createDatabase, apiKeys: 12 })
  const { closing } = bench
  const played = new Map<UpstreamName, Simulator>([['openrouter', bench.simulator]])
  for (const [name, vendor] of VENDORS) {
    const simulator = await startSimulator({ vendor })
    closing.defer(() => simulator.close())
    played.set(name, simulator)
  }
  const of = (name: UpstreamName): Simulator => {
    const simulator = played.get(name)
    if (simulator === undefined) throw new TypeError(`no simulator plays ${name}`)
    return simulator
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-four-'))
  closing.defer(() => rmSync(folder, { recursive: true }))
  let turn = 0
  const serveFile = (
    names: readonly UpstreamName[],
    settings: Readonly<Record<string, string>>,
  ): Promise<ServeProcess> => {
    const file = join(folder, `${names.join('-')}.yaml`)
    writeFileSync(file, fileOf(names, of))
    return bench.serve({
      // In place of the bench's own upstream.
      UPSTREAM_BASE_URL: '',
      UPSTREAM_API_KEY: '',
      TOLLGATE_UPSTREAMS: file,
      EACH_KEY: 'upstream-key',
      // A stream that its client has left is read to its counts, on a busy machine too.
      TOLLGATE_READ_ON_TIMEOUT_MS: '600000',
      ...settings,
    })
  }
  return {
    bench,
    simulators: {
      openai: of('openai'),
      anthropic: of('anthropic'),
      local: of('local'),
      openrouter: of('openrouter'),
    },
    serve: (settings = {}) => serveFile(UPSTREAM_NAMES, settings),
    serveWithout: (without, settings = {}) =>
      serveFile(
        UPSTREAM_NAMES.filter((name) => name !== without),
        settings,
      ),
    nextKey() {
      turn = (turn + 1) % bench.apiKeys.length
      return bench.apiKeys[turn]?.text ?? ''
    },
    chargeDue(upstream, mark) {
      const { requests, generations } = of(upstream)
      const sent = requests.findLast(({ body }) => body.includes(mark))
      const ran = generations.find(sent?.generationId ?? '')
      if (ran === null || ran === undefined) throw new Error(`${upstream} never ran ${mark}`)
      return chargeOf(ran.cost.totalUsd)
    },
    async settledRow(requestId, states) {
      const found = (row: RequestRow): boolean => row.id === requestId && states.includes(row.state)
      const rows = await bench.until((all) => all.some(found))
      const row = rows.find(found)
      if (row === undefined) throw new Error(`no request ${requestId}`)
      return row
    },
    close: () => bench.close(),
  }
}

/** A cost in dollars with the fee of 5%, in micro-dollars; a half goes up. */
export function chargeOf(costUsd: number): number {
  return Number((BigInt(Math.round(costUsd * 1e12)) * 105n + 50_000_000n) / 100_000_000n)
}

function fileOf(names: readonly UpstreamName[], of: (name: UpstreamName) => Simulator): string {
  const upstreams = names.map((name) => {
    const vendor = VENDORS.find(([each]) => each === name)?.[1]
    const { baseUrl, catalog } = of(name)
    const lines = [
      `  ${name}:`,
      `    dialect: ${vendor ?? 'openrouter'}`,
      `    base_url: ${baseUrl}`,
      `    api_key: "\${EACH_KEY}"`,
    ]
    if (vendor === undefined) return lines.join('\n')
    if (name === 'local') {
      lines.push(`    formats: [${SPOKEN[vendor].join(', ')}]`, '    read_on: true')
    }
    const models = catalog.rows.filter(hasOnePrice).map((row) => modelLine(name, row))
    return [...lines, '    models:', ...models].join('\n')
  })
  return `upstreams:\n${upstreams.join('\n')}\naliases: { mini: openai/text }\n`
}

const PRICES = {
  prompt: 'input',
  completion: 'output',
  input_cache_read: 'cache_read',
  input_cache_write: 'cache_write',
  input_cache_write_1h: 'cache_write_1h',
  internal_reasoning: 'reasoning',
} as const

function modelLine(upstream: UpstreamName, row: CatalogRow): string {
  const { pricing, architecture } = row
  const prices = Object.entries(PRICES).flatMap(([theirs, ours]) => {
    const usd = pricing[theirs as keyof typeof PRICES]
    return usd === undefined ? [] : [`${ours}: ${perMillion(usd)}`]
  })
  for (const [theirs, ours] of [
    ['web_search', 'search'],
    ['request', 'request'],
  ] as const) {
    const usd = pricing[theirs]
    if (usd !== undefined) prices.push(`${ours}: ${usd}`)
  }
  const theirs = vendorId(row.id)
  const figures = [
    `id: "${upstream}/${theirs}"`,
    `upstream_id: "${theirs}"`,
    ...(row.context_length === null ? [] : [`context: ${row.context_length}`]),
    ...(row.top_provider.max_completion_tokens === null
      ? []
      : [`max_output: ${row.top_provider.max_completion_tokens}`]),
    `prices: { ${prices.join(', ')} }`,
    `inputs: [${architecture.input_modalities.join(', ')}]`,
    `outputs: [${architecture.output_modalities.join(', ')}]`,
    `parameters: [${row.supported_parameters.join(', ')}]`,
  ]
  return `      - { ${figures.join(', ')} }`
}

/** Dollars for a million tokens, exactly: the point of the decimal moves by six places. */
function perMillion(usd: string): string {
  return `${usd}e6`
}
