import type { Model } from '../../api/answers.ts'
import { capitalized } from '../../format/capitalized.ts'
import type { ModelSort, ModelsSearch, Writes } from './search.ts'

/** The account's usage of a model. */
export interface ModelUse {
  readonly requests: number
  readonly chargeMicros: number
  /** The median; null: none had a first byte. */
  readonly firstByteMs: number | null
}

/** The uses by model ID. */
export type ModelUses = ReadonlyMap<string, ModelUse>

/** The models that match the search, sorted. */
export function matchingModels<Each extends Model & { readonly upstream?: string }>(
  models: readonly Each[],
  search: ModelsSearch,
  uses: ModelUses,
): readonly Each[] {
  const found = models.filter((model) => matches(model, search))
  return sorted(found, search.sort ?? 'used', uses)
}

function matches(model: Model & { readonly upstream?: string }, search: ModelsSearch): boolean {
  const { find = '', open, vendor, writes, context, supports = [] } = search
  const texts = [model.id, model.name, model.description, model.upstream]
  const text = texts.join(' ').toLowerCase()
  return (
    text.includes(find.trim().toLowerCase()) &&
    (open !== true || paysFree(model)) &&
    (vendor === undefined || vendorOf(model) === vendor) &&
    (writes === undefined || writesOf(model) === writes) &&
    (context === undefined || (model.context_length ?? 0) >= context) &&
    supports.every((one) => model.supported_parameters.includes(one))
  )
}

function sorted<Each extends Model>(
  models: readonly Each[],
  sort: ModelSort,
  uses: ModelUses,
): readonly Each[] {
  switch (sort) {
    case 'used': {
      const usesOf = ({ id }: Model) => uses.get(id)?.requests ?? 0
      return models.toSorted((one, other) => usesOf(other) - usesOf(one))
    }
    case 'name':
      return models.toSorted((one, other) => one.id.localeCompare(other.id))
    case 'price':
      return models.toSorted((one, other) => priceOf(one) - priceOf(other))
    case 'context':
      return models.toSorted(
        (one, other) => (other.context_length ?? 0) - (one.context_length ?? 0),
      )
    case 'newest':
      return models.toSorted((one, other) => (other.created ?? 0) - (one.created ?? 0))
  }
}

// Only for the order: no amount is made of it.
function priceOf({ pricing }: Model): number {
  return ['prompt', 'completion', 'image', 'request']
    .map((name) => Number(pricing[name] ?? 0))
    .reduce((sum, price) => sum + (Number.isFinite(price) ? price : 0), 0)
}

/** The first part of the ID: `anthropic`. */
function vendorOf({ id }: Pick<Model, 'id'>): string {
  return id.slice(0, Math.max(0, id.indexOf('/')))
}

/** The kind of output of a model. */
function writesOf({ architecture }: Model): Writes {
  const { output_modalities: outputs } = architecture
  if (outputs.includes('image')) return 'image'
  return outputs.includes('embeddings') || outputs.includes('embedding') ? 'embeddings' : 'text'
}

const VENDOR_MODELS_MIN = 2

/** The vendors with two models or more, most models first. */
export function vendorsOf(models: readonly Model[]): readonly string[] {
  const groups = Map.groupBy(models, vendorOf)
  return [...groups]
    .filter(([vendor, of]) => vendor !== '' && of.length >= VENDOR_MODELS_MIN)
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([vendor]) => vendor)
}

/** Vendors that are not written as their part of an ID with a capital. */
const VENDOR_NAMES: Readonly<Record<string, string>> = {
  ai21: 'AI21',
  deepseek: 'DeepSeek',
  'meta-llama': 'Meta',
  minimax: 'MiniMax',
  mistralai: 'Mistral',
  moonshotai: 'Moonshot AI',
  nvidia: 'NVIDIA',
  openai: 'OpenAI',
  'x-ai': 'xAI',
  'z-ai': 'Z.ai',
}

/** The name of a vendor: `OpenAI`, `Black Forest`. */
export function vendorName(vendor: string): string {
  return VENDOR_NAMES[vendor] ?? vendor.split('-').map(capitalized).join(' ')
}

/** The name of a model, if its upstream lists another than its ID. */
export function ownName({ id, name }: Pick<Model, 'id' | 'name'>): string | null {
  return name === undefined || name === id ? null : name
}

/** Whether free credit pays for the model: it writes text only, and its weights are open. */
export function paysFree({ open_weights: isOpen, architecture }: Model): boolean {
  return isOpen && architecture.output_modalities.join() === 'text'
}
