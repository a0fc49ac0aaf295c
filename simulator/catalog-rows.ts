import type { CatalogRow, Pricing } from './catalog.ts'

/** The fields in which rows differ; the rest of a row follows from them. */
interface RowSketch {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly pricing: Pricing
  /** Default: the id with a date behind it. */
  readonly canonicalSlug?: string
  /** Default '': closed weights. */
  readonly huggingFaceId?: string
  /** Default 131072; null where the model names none. */
  readonly contextTokens?: number | null
  /** Default null: the model lists no maximum. */
  readonly outputTokensMax?: number | null
  /** Default text alone. */
  readonly inputs?: readonly string[]
  /** Default text alone. */
  readonly outputs?: readonly string[]
  /** Default: the parameters of a chat model with tools and structured outputs. */
  readonly parameters?: readonly string[]
  readonly aliasTarget?: { readonly name: string; readonly slug: string }
}

const CREATED_SECONDS = 1_788_000_000
const SAMPLING = ['max_tokens', 'temperature', 'top_p', 'stop', 'seed']
const TOOLS = ['tools', 'tool_choice', 'response_format', 'structured_outputs']
const REASONING = ['reasoning', 'include_reasoning', 'max_completion_tokens']
const CHAT = [...SAMPLING, ...TOOLS, ...REASONING]

/** A whole catalog row from its sketch. */
export function catalogRow(sketch: RowSketch): CatalogRow {
  const inputs = sketch.inputs ?? ['text']
  const outputs = sketch.outputs ?? ['text']
  const contextTokens = sketch.contextTokens === undefined ? 131_072 : sketch.contextTokens
  const slug = sketch.canonicalSlug ?? `${sketch.id}-20260901`
  return {
    id: sketch.id,
    canonical_slug: slug,
    hugging_face_id: sketch.huggingFaceId ?? '',
    name: sketch.name,
    created: CREATED_SECONDS,
    description: sketch.description,
    context_length: contextTokens,
    architecture: {
      modality: `${inputs.join('+')}->${outputs.join('+')}`,
      input_modalities: inputs,
      output_modalities: outputs,
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing: sketch.pricing,
    top_provider: {
      context_length: contextTokens,
      max_completion_tokens: sketch.outputTokensMax ?? null,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: sketch.parameters ?? CHAT,
    default_parameters: {},
    knowledge_cutoff: null,
    expiration_date: null,
    ...(sketch.aliasTarget === undefined ? {} : { alias_target: sketch.aliasTarget }),
    links: { details: `/api/v1/models/${slug}/endpoints` },
  }
}

const SKETCHES: readonly RowSketch[] = [
  {
    id: 'sim/text',
    name: 'Simulator: Text',
    description: 'The default: chat with tools, structured outputs and reasoning.',
    pricing: { prompt: '0.000001', completion: '0.000004', web_search: '0.01' },
    contextTokens: 128_000,
    outputTokensMax: 16_384,
    inputs: ['text', 'image'],
  },
  {
    id: 'sim/open',
    name: 'Simulator: Open',
    description: 'Open weights, so that free credit may pay for it.',
    pricing: { prompt: '0.0000002', completion: '0.0000006' },
    huggingFaceId: 'simulator/open-8b',
    contextTokens: 32_768,
    outputTokensMax: 8192,
  },
  {
    id: 'sim/open-long',
    name: 'Simulator: Open Long',
    description: 'Open weights and no listed maximum of output tokens.',
    pricing: { prompt: '0.0000003', completion: '0.0000009' },
    huggingFaceId: 'simulator/open-long-70b',
  },
  {
    id: 'sim/open:free',
    name: 'Simulator: Open (free)',
    description: 'Costs nothing.',
    pricing: { prompt: '0', completion: '0' },
    huggingFaceId: 'simulator/open-8b',
    contextTokens: 32_768,
    outputTokensMax: 4096,
  },
  {
    id: 'sim/uncapped',
    name: 'Simulator: Uncapped',
    description: 'Closed weights and no listed maximum of output tokens.',
    pricing: { prompt: '0.000002', completion: '0.000008' },
    contextTokens: 65_536,
  },
  {
    id: 'sim/unknown-window',
    name: 'Simulator: Unknown Window',
    description: 'Names neither a context window nor a maximum.',
    pricing: { prompt: '0.0000002', completion: '0.0000008' },
    contextTokens: null,
    parameters: SAMPLING,
  },
  {
    id: 'sim/files',
    name: 'Simulator: Files',
    description: 'Reads files itself.',
    pricing: { prompt: '0.000003', completion: '0.000015' },
    contextTokens: 200_000,
    outputTokensMax: 64_000,
    inputs: ['text', 'image', 'file'],
  },
  {
    id: 'sim/vision',
    name: 'Simulator: Vision',
    description: 'Asks a price for each input image and for each request.',
    pricing: {
      prompt: '0.0000001',
      completion: '0.0000004',
      image: '0.001264',
      request: '0.0005',
    },
    contextTokens: 65_536,
    outputTokensMax: 8192,
    inputs: ['text', 'image'],
  },
  {
    id: 'sim/search',
    name: 'Simulator: Search',
    description: 'Searches on every request, and bills for it.',
    pricing: { prompt: '0.000003', completion: '0.000015', request: '0.018', web_search: '0.005' },
    outputTokensMax: 8000,
    parameters: ['max_tokens', 'temperature', 'web_search_options'],
  },
  {
    id: 'sim/tiered',
    name: 'Simulator: Tiered',
    description: 'More expensive for prompts above 1,000 tokens.',
    pricing: {
      prompt: '0.000002',
      completion: '0.00001',
      overrides: [{ min_prompt_tokens: 1000, prompt: '0.000004', completion: '0.000015' }],
    },
    outputTokensMax: 32_000,
  },
  {
    id: 'sim/steered',
    name: 'Simulator: Steered',
    description: 'Has a second provider, which is more expensive and alone takes `seed`.',
    pricing: { prompt: '0.000001', completion: '0.000004' },
    outputTokensMax: 8192,
  },
  {
    id: 'sim/night-rate',
    name: 'Simulator: Night Rate',
    description: 'Half the price from 16:30 to 00:30 UTC.',
    pricing: {
      prompt: '0.00000028',
      completion: '0.00000042',
      overrides: [{ utc_start: 1630, utc_end: 30, prompt: '0.00000014', completion: '0.00000021' }],
    },
    outputTokensMax: 8192,
  },
  {
    id: 'sim/cached',
    name: 'Simulator: Cached',
    description: 'Has prices for cache reads and writes.',
    pricing: {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      input_cache_write_1h: '0.000006',
    },
    contextTokens: 200_000,
    outputTokensMax: 64_000,
  },
  {
    id: 'sim/no-cost',
    name: 'Simulator: No Cost',
    description: 'Has prices, but its answers name no cost.',
    pricing: { prompt: '0.000001', completion: '0.000002' },
    outputTokensMax: 8192,
  },
  {
    id: 'sim/dated',
    name: 'Simulator: Dated',
    description: 'Has a permanent name and an alias; bodies carry ids of their own.',
    canonicalSlug: 'sim/dated-2026-09-01',
    pricing: { prompt: '0.000001', completion: '0.000005' },
    outputTokensMax: 8192,
  },
  {
    id: '~sim/dated-latest',
    name: 'Simulator: Dated (latest)',
    description: 'Another name of sim/dated.',
    pricing: { prompt: '0.000001', completion: '0.000005' },
    outputTokensMax: 8192,
    aliasTarget: { name: 'Simulator: Dated', slug: 'sim/dated' },
  },
  {
    id: 'sim/auto',
    name: 'Simulator: Auto',
    description: 'A router, whose price is not known beforehand.',
    pricing: { prompt: '-1', completion: '-1' },
    contextTokens: 2_000_000,
  },
  {
    id: 'sim/paced',
    name: 'Simulator: Paced',
    description: 'Streams as many events as the prompt asks for, at its interval.',
    pricing: { prompt: '0.000001', completion: '0.000002' },
    outputTokensMax: 65_536,
    parameters: SAMPLING,
  },
  {
    id: 'sim/embed',
    name: 'Simulator: Embed',
    description: 'Embeddings of 256 dimensions, or of as many as asked for up to 1,536.',
    pricing: { prompt: '0.00000002', completion: '0' },
    contextTokens: 8192,
    outputs: ['embeddings'],
    parameters: [],
  },
  {
    id: 'sim/image',
    name: 'Simulator: Image',
    description: 'Pictures only, priced by token; streams.',
    pricing: { prompt: '0.000005', completion: '0', image_output: '0.00004' },
    contextTokens: 4096,
    inputs: ['text', 'image'],
    outputs: ['image'],
    parameters: ['seed'],
  },
  {
    id: 'sim/image-flat',
    name: 'Simulator: Image Flat',
    description: 'Pictures only, at a flat price each; does not stream.',
    pricing: { prompt: '0', completion: '0', image_output: '0.00000958' },
    contextTokens: 4096,
    outputs: ['image'],
    parameters: ['seed'],
  },
  {
    id: 'sim/image-chat',
    name: 'Simulator: Image Chat',
    description: 'Chats, and draws when the request asks for images.',
    pricing: { prompt: '0.0000003', completion: '0.0000025', image_output: '0.00003' },
    contextTokens: 32_768,
    outputTokensMax: 32_768,
    inputs: ['text', 'image'],
    outputs: ['text', 'image'],
    parameters: SAMPLING,
  },
]

/** The models that the simulator starts with. */
export const CATALOG_ROWS: readonly CatalogRow[] = SKETCHES.map(catalogRow)
