import { Command } from 'commander'
import type { ParsedCatalog } from '../upstreams/listing/listing.ts'
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'
import type { CommandInput, LiveUpstreams } from './command-context.ts'
import { counted, table } from './table.ts'
import { CommandFailure } from './terminal.ts'

/** What became of asking one upstream for its models. */
interface Checked {
  readonly settings: UpstreamSettings
  /** Whether its own ids are catalog ids. */
  readonly hasCatalogIds: boolean
  /** Its list, or why there is none. */
  readonly answer:
    | { readonly kind: 'listed'; readonly listed: ParsedCatalog }
    | { readonly kind: 'failed'; readonly cause: unknown }
}

/** An upstream, and which of its models another one has. */
interface Row extends Checked {
  readonly shadowedIds: readonly string[]
}

/** `tollgate upstream`: asks upstreams whether they can be used. It needs no store. */
export function upstreamCommand(input: CommandInput): Command {
  const command = new Command('upstream').description('check the upstreams of the settings')
  command
    .command('check')
    .description(
      'ask each upstream for its models: can it be reached, is its key good, what is offered',
    )
    .argument('[name]', 'the name of one upstream; default: all')
    .action((name: string | undefined) => check(input, name ?? null))
  return command
}

/** By position: what a command needs, and the upstream to show; null: all. */
async function check({ settings, terminal }: CommandInput, only: string | null): Promise<void> {
  const { upstreams: live } = settings()
  if (live === undefined) {
    throw new CommandFailure(
      'no upstream is configured: set UPSTREAM_BASE_URL, or TOLLGATE_UPSTREAMS for several',
    )
  }
  const rows = await askAll(live)
  const shown = rows.filter(({ settings: { name } }) => only === null || name === only)
  if (shown.length === 0) {
    const names = rows.map(({ settings: { name } }) => name).join(', ')
    throw new CommandFailure(`no upstream is called ${only}: there are ${names}`)
  }
  const headings = ['UPSTREAM', 'DIALECT', 'ADDRESS', 'MODELS', 'NOT OFFERED', 'SHADOWED']
  terminal.out(table(headings, shown.map(cellsOf)))
  for (const row of shown) for (const line of remarksOn(row)) terminal.note(line)
  const failed = shown.filter(({ answer }) => answer.kind === 'failed').length
  if (failed > 0) throw new CommandFailure(`${counted(failed, 'upstream')} cannot be used`)
}

async function askAll(live: LiveUpstreams): Promise<readonly Row[]> {
  const configured = await live.load()
  // The code that talks to providers is loaded for this alone: other commands start sooner without it.
  const { Claims } = await import('../catalog/claims.ts')
  const checked = await Promise.all(configured.upstreams.map((settings) => ask(settings, live)))
  const claims = new Claims(configured.upstreams)
  for (const { settings, answer } of checked) {
    if (answer.kind === 'failed') continue
    claims.replace(
      settings.name,
      answer.listed.models.map((model) => ({ ...model, refreshedAtMs: 0 })),
    )
  }
  return checked.map((each) => ({ ...each, shadowedIds: claims.shadowedOf(each.settings.name) }))
}

async function ask(
  settings: UpstreamSettings,
  { loadDialect, catalog }: LiveUpstreams,
): Promise<Checked> {
  const { Upstream } = await import('../upstreams/upstream.ts')
  const { narrowed } = await import('../catalog/narrowing.ts')
  const dialect = await loadDialect(settings.dialect)
  const { hasCatalogIds } = dialect
  const upstream = new Upstream(settings, dialect)
  try {
    const listed = await dialect.fetchModels(upstream, { ...catalog, upstream: settings.name })
    const answer = { kind: 'listed', listed: narrowed(listed, settings) } as const
    return { settings, hasCatalogIds, answer }
  } catch (cause) {
    return { settings, hasCatalogIds, answer: { kind: 'failed', cause } }
  } finally {
    await upstream.destroy()
  }
}

function cellsOf({ settings, answer, shadowedIds }: Row): readonly (string | number)[] {
  const { name, dialect, baseUrl } = settings
  if (answer.kind === 'failed') return [name, dialect, baseUrl, '-', '-', '-']
  const { models, skipped } = answer.listed
  return [name, dialect, baseUrl, models.length, skipped.length, shadowedIds.length]
}

const SHOWN_MAX = 10

function* remarksOn(row: Row): Generator<string> {
  const { settings, answer, shadowedIds } = row
  const { name } = settings
  if (answer.kind === 'failed') {
    const { cause } = answer
    yield `${name}: ${cause instanceof Error ? cause.message : String(cause)}`
    return
  }
  if (shadowedIds.length > 0) {
    yield `${name}: another upstream has ${someOf(shadowedIds)}`
  }
  const { skipped } = answer.listed
  for (const { modelId, why } of skipped.slice(0, SHOWN_MAX)) {
    yield `${name}: ${modelId ?? 'a row'} is not offered: ${why}`
  }
  if (skipped.length > SHOWN_MAX)
    yield `${name}: ${skipped.length - SHOWN_MAX} more are not offered`
  if (row.hasCatalogIds) return
  const lines = skipped.slice(0, SHOWN_MAX).flatMap(({ modelId }) => linesFor(modelId, name))
  if (lines.length > 0) {
    yield `${name}: to offer them, write these lines below its \`models:\`, with prices in dollars for a million tokens:`
    yield* lines
  }
}

/** By position: a model that lacks a price, and its upstream's name. */
function linesFor(modelId: string | null, upstream: string): readonly string[] {
  const prefix = `${upstream}/`
  if (modelId?.startsWith(prefix) !== true) return []
  const theirs = JSON.stringify(modelId.slice(prefix.length))
  return [
    `      - { upstream_id: ${theirs}, context: , max_output: , prices: { input: , output: } }`,
  ]
}

function someOf(ids: readonly string[]): string {
  const more = ids.length > SHOWN_MAX ? ` and ${ids.length - SHOWN_MAX} more` : ''
  return ids.slice(0, SHOWN_MAX).join(', ') + more
}
