import type { CatalogRow } from '../../simulator/catalog.ts'
import { type VendorName, vendorId } from '../../simulator/vendors.ts'
import { upstreamSettings } from '../../src/upstreams/testing/upstream-settings.ts'
import type { UpstreamSettings, WrittenModel } from '../../src/upstreams/upstream-settings.ts'
import { parsePrice } from '../../src/vocabulary/money.ts'
import type { FormatRow } from '../contract/format-row.ts'

/** A format that some of the vendors speak. */
export type Format = 'chat' | 'completions' | 'responses' | 'messages' | 'embeddings'

/** The formats that each vendor speaks. */
export const SPOKEN: Readonly<Record<VendorName, readonly Format[]>> = {
  openai: ['chat', 'completions', 'responses', 'embeddings'],
  anthropic: ['messages'],
  'openai-compatible': ['chat', 'completions', 'responses', 'messages', 'embeddings'],
}

/** A format's row of the contract, as far as vendors differ from OpenRouter. */
export function vendorRow(row: FormatRow): FormatRow {
  const { user, ...body } = row.body
  return {
    ...row,
    // Messages of a vendor have no `user`.
    body: row.endpoint === 'messages' ? { ...body, model: row.body.model } : row.body,
    hasGenerations: false,
    parts: { ...row.parts, unreadFile: 'refused' },
  }
}

/** The settings of an upstream that the simulator plays, with the simulator's models written in them. */
export function vendorSettings(
  base: UpstreamSettings,
  { vendor, rows }: { readonly vendor: VendorName; readonly rows: readonly CatalogRow[] },
): UpstreamSettings {
  return {
    ...base,
    name: vendor,
    dialect: vendor,
    formats: vendor === 'openai-compatible' ? SPOKEN[vendor] : null,
    models: rows.filter(hasOnePrice).map(writtenModel),
  }
}

/** The second address of a vendor, played by this simulator: chats and responses, by the ids of the first. */
export function chatUpstream({
  baseUrl,
  catalog,
}: {
  readonly baseUrl: string
  readonly catalog: { readonly rows: readonly CatalogRow[] }
}): UpstreamSettings {
  const input = { vendor: 'openai-compatible', rows: catalog.rows } as const
  const settings = vendorSettings(upstreamSettings({ baseUrl }), input)
  return { ...settings, name: 'chats', formats: ['chat', 'responses'] }
}

/** Whether settings can name all prices of a row: they have none by prompt size or time of day, and none of images. */
export function hasOnePrice({ pricing, id }: CatalogRow): boolean {
  return (
    !id.startsWith('~') &&
    !pricing.prompt.startsWith('-') &&
    pricing.overrides === undefined &&
    pricing.image === undefined
  )
}

function writtenModel(row: CatalogRow): WrittenModel {
  const { pricing } = row
  const named = {
    input: pricing.prompt,
    output: pricing.completion,
    cacheRead: pricing.input_cache_read,
    cacheWrite: pricing.input_cache_write,
    cacheWriteLong: pricing.input_cache_write_1h,
    reasoning: pricing.internal_reasoning,
    search: pricing.web_search,
    request: pricing.request,
  }
  const prices = Object.entries(named).flatMap(([name, text]) => {
    const price = text === undefined ? null : parsePrice(text)
    return price === null ? [] : [[name, price] as const]
  })
  return {
    id: row.id,
    upstreamModelId: vendorId(row.id),
    contextTokens: row.context_length,
    outputTokensMax: row.top_provider.max_completion_tokens,
    prices: Object.fromEntries(prices),
    inputModalities: row.architecture.input_modalities,
    outputModalities: row.architecture.output_modalities,
    supportedParameters: row.supported_parameters,
    openWeights: row.hugging_face_id !== '',
  }
}
