import { readRecord } from '../listing/json-reading.ts'
import type { ListedModel, ListingSettings, ParsedCatalog, SkippedRow } from '../listing/listing.ts'
import { type ParsedRow, parseRow } from '../listing/parse-listing.ts'

/** The upstream's answer is no list of models, or one without a single model that could be sold. */
export class CatalogRefused extends Error {
  override readonly name = 'CatalogRefused'
}

/**
 * Reads the upstream's list of models. A bad row is skipped; a list that is malformed or empty throws CatalogRefused, and nothing else is ever thrown.
 */
export function parseModels(upstreamAnswer: unknown, settings: ListingSettings): ParsedCatalog {
  const rows = readRecord(upstreamAnswer)?.['data']
  if (!Array.isArray(rows)) throw new CatalogRefused('the answer has no list of models in `data`')
  const parsed = dropContradictions(rows.map((row: unknown) => parseRow(row, settings)))
  const aliases = aliasesByModelId(parsed)
  const models: ListedModel[] = []
  const unreadableIds = new Set<string>()
  const skipped: SkippedRow[] = []
  for (const row of parsed) {
    if (row.kind === 'model') {
      const { offer, listing } = row
      models.push({ offer, listing, aliases: aliases.get(offer.modelId) ?? [] })
    } else if (row.kind !== 'alias') {
      if (row.kind === 'unreadable' && row.modelId !== null) unreadableIds.add(row.modelId)
      skipped.push({ modelId: row.modelId, why: row.why })
    }
  }
  if (models.length === 0) throw new CatalogRefused('the list has no model that can be offered')
  return { models, unreadableIds, skipped }
}

/** Leaves one row an id. Rows of one id that disagree on what holds go by leave none that can be believed. */
function dropContradictions(rows: readonly ParsedRow[]): readonly ParsedRow[] {
  const kept = new Map<string, ParsedRow>()
  const nameless: ParsedRow[] = []
  for (const row of rows) {
    const modelId =
      row.kind === 'model' ? row.offer.modelId : row.kind === 'alias' ? row.name : row.modelId
    if (modelId === null) {
      nameless.push(row)
      continue
    }
    const earlier = kept.get(modelId)
    if (earlier === undefined) kept.set(modelId, row)
    else if (!agree(earlier, row)) {
      kept.set(modelId, { kind: 'unreadable', modelId, why: 'its rows contradict each other' })
    }
  }
  return [...kept.values(), ...nameless]
}

function agree(a: ParsedRow, b: ParsedRow): boolean {
  if (a.kind === 'model' && b.kind === 'model') {
    return (
      a.offer.priceSnapshotId === b.offer.priceSnapshotId &&
      a.offer.contextTokens === b.offer.contextTokens &&
      a.offer.outputTokensMax === b.offer.outputTokensMax
    )
  }
  if (a.kind === 'alias' && b.kind === 'alias') return a.target === b.target
  return a.kind === b.kind
}

/**
 * Names beside the id. A row with a suffix (`:free`) is reached by its very id alone: its slug is
 * often that of the model without the suffix, which has another price.
 */
function aliasesByModelId(rows: readonly ParsedRow[]): ReadonlyMap<string, readonly string[]> {
  const modelIds = new Set<string>()
  const bySlug = new Map<string, string | null>()
  const aliases = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kind !== 'model') continue
    const { modelId } = row.offer
    const slug = row.listing.canonical_slug
    modelIds.add(modelId)
    if (slug === null || slug === modelId || modelId.includes(':')) continue
    // A slug of two models names neither.
    bySlug.set(slug, bySlug.has(slug) ? null : modelId)
  }
  const add = (alias: { readonly name: string; readonly modelId: string }) => {
    const names = aliases.get(alias.modelId)
    if (names === undefined) aliases.set(alias.modelId, [alias.name])
    else names.push(alias.name)
  }
  for (const [name, modelId] of bySlug) if (modelId !== null) add({ name, modelId })
  for (const row of rows) {
    if (row.kind !== 'alias') continue
    const modelId = modelIds.has(row.target) ? row.target : bySlug.get(row.target)
    if (typeof modelId === 'string') add({ name: row.name, modelId })
  }
  return aliases
}
