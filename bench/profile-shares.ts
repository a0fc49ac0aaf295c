import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A CPU profile as V8 writes it, as far as it is read here. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** The id of the node that each sample found at work. */
  readonly samples: readonly number[]
  /** The microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

/** What one thread spent its time on. */
export interface ThreadShares {
  readonly thread: string
  readonly busyMs: number
  /** Of the time that it was not idle, 0 to 1, the largest first. */
  readonly shares: ReadonlyMap<string, number>
}

/** The files that threads run, and what each thread is. */
const THREADS = new Map([
  ['/ledger/sqlite-writer.ts', 'the thread that commits'],
  ['/store/sqlite-statements.ts', 'a thread that reads'],
])

const IDLE = '(idle)'
const SHARE_MIN = 0.01
const BUSY_SHARE_MIN = 0.05

/**
 * The shares of the profiles in a folder, but of those that were there before, and of threads that did
 * next to nothing.
 */
export function profileShares(folder: string, before: ReadonlySet<string>): ThreadShares[] {
  const threads = profilesIn(folder)
    .filter((name) => !before.has(name))
    .map((name) => sharesOf(JSON.parse(readFileSync(join(folder, name), 'utf8'))))
  const busiestMs = Math.max(...threads.map(({ busyMs }) => busyMs))
  return threads.filter(({ busyMs }) => busyMs >= BUSY_SHARE_MIN * busiestMs)
}

/** The names of the profiles in a folder; none where there is no folder. */
export function profilesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  } catch {
    return []
  }
}

/**
 * Gives each sample to the innermost part on its stack: a folder of `src/`, or a package. What neither
 * has called is Node's, and so is what the collector and the engine do by themselves.
 */
export function sharesOf({ nodes, samples, timeDeltas }: CpuProfile): ThreadShares {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map<number, number>()
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id)
  const micros = new Map<string, number>()
  let busyMicros = 0
  for (const [place, id] of samples.entries()) {
    const part = partOf(id)
    if (part === IDLE) continue
    const deltaMicros = timeDeltas[place] ?? 0
    busyMicros += deltaMicros
    micros.set(part, (micros.get(part) ?? 0) + deltaMicros)
  }
  const shares = [...micros]
    .map(([part, spent]) => [part, spent / busyMicros] as const)
    .sort(([, a], [, b]) => b - a)
  return {
    thread: threadOf(nodes),
    busyMs: busyMicros / 1_000,
    shares: new Map(shares),
  }

  function partOf(sampled: number): string {
    for (let id: number | undefined = sampled; id !== undefined; id = parents.get(id)) {
      const node = byId.get(id)
      const part = node === undefined ? null : partOfFrame(node.callFrame)
      if (part !== null) return part
    }
    return 'Node'
  }
}

function threadOf(nodes: CpuProfile['nodes']): string {
  for (const [file, thread] of THREADS) {
    if (nodes.some(({ callFrame }) => callFrame.url.endsWith(file))) return thread
  }
  return 'the main thread'
}

/** Null where the caller says more. */
function partOfFrame({ functionName, url }: ProfileNode['callFrame']): string | null {
  if (functionName === IDLE) return IDLE
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (functionName === '(program)') return 'the engine'
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  if (name !== undefined) return name
  const [, folder] = /\/(src\/[^/]+)\/[^/]+/.exec(url) ?? []
  return folder ?? null
}

/** The shares of a thread as a Markdown table, without those below a hundredth. */
export function sharesTable({ thread, busyMs, shares }: ThreadShares): string {
  const rows = [...shares]
    .filter(([, share]) => share >= SHARE_MIN)
    .map(([part, share]) => `| ${part} | ${(share * 100).toFixed(0)}% |`)
  const busy = `${(busyMs / 1_000).toFixed(1)} s busy`
  return [`### A profile of ${thread}, ${busy}`, '', '| Part | Share |', '| --- | --- |', ...rows]
    .join('\n')
    .concat('\n')
}
