import type { Model } from '../../web/api/answers.ts'
import type { OfferedModel, OfferedModels } from '../../web/api/operator.ts'
import { listOf } from './stand-in-data.ts'

/** The models of the made-up account: each kind of price, of input and of answer. */

type Pricing = Model['pricing']
type Architecture = Model['architecture']

interface ModelInput {
  readonly name: string
  /** The provider's prices. */
  readonly provider: Pricing
  /** The provider's prices plus a platform fee of exactly 5 %. */
  readonly pricing: Pricing
  readonly context?: number | null
  readonly reads?: Architecture['input_modalities']
  readonly writes?: Architecture['output_modalities']
  readonly endpoints?: Model['endpoints']
  readonly supports?: Model['supported_parameters']
  readonly isOpen?: true
  readonly description?: string
}

const CHATS = ['chat', 'messages', 'responses', 'completions']
const TAKES = ['max_tokens', 'temperature', 'top_p', 'tools']

function offered(id: string, input: ModelInput): OfferedModel {
  const { provider, context = 200_000, reads = ['text'], writes = ['text'] } = input
  return {
    id,
    object: 'model',
    name: input.name,
    description: input.description ?? '',
    created: 1_760_000_000 + id.length,
    hugging_face_id: input.isOpen === true ? id : null,
    open_weights: input.isOpen === true,
    context_length: context,
    endpoints: input.endpoints ?? CHATS,
    architecture: { input_modalities: reads, output_modalities: writes },
    supported_parameters: input.supports ?? TAKES,
    top_provider: { max_completion_tokens: 64_000 },
    pricing: input.pricing,
    upstream: id.startsWith('sim/') ? 'local' : 'openrouter',
    provider_pricing: provider,
    fee_basis_points: 500,
    doubted: id === 'openai/gpt-6-mini',
    listed_at: '2026-11-21T12:00:00.000Z',
    prices_first_seen_at: '2026-10-03T09:00:00.000Z',
    stale: id === 'meta/llama-5-70b',
  }
}

const MANY = [
  offered('anthropic/claude-sonnet-5', {
    name: 'Claude Sonnet 5',
    description:
      'General model for coding, agents and long documents. Reasons on request and calls tools.',
    context: 1_000_000,
    reads: ['text', 'image', 'file'],
    supports: [...TAKES, 'structured_outputs', 'reasoning', 'web_search_options'],
    provider: {
      prompt: '0.000003',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      input_cache_write_1h: '0.000006',
      completion: '0.000015',
      web_search: '0.01',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.000006', completion: '0.0000225' }],
    },
    pricing: {
      prompt: '0.00000315',
      input_cache_read: '0.000000315',
      input_cache_write: '0.0000039375',
      input_cache_write_1h: '0.0000063',
      completion: '0.00001575',
      web_search: '0.0105',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.0000063', completion: '0.000023625' }],
    },
  }),
  offered('openai/gpt-6-mini', {
    name: 'GPT-6 mini',
    context: 400_000,
    reads: ['text', 'image'],
    supports: ['max_completion_tokens', 'tools', 'structured_outputs'],
    provider: { prompt: '0.0000004', completion: '0.0000016' },
    pricing: { prompt: '0.00000042', completion: '0.00000168' },
  }),
  offered('google/gemini-3-flash', {
    name: 'Gemini 3 Flash',
    context: 1_000_000,
    reads: ['text', 'image', 'file', 'audio'],
    provider: { prompt: '0.0000003', completion: '0.0000025', audio: '0.000001' },
    pricing: { prompt: '0.000000315', completion: '0.000002625', audio: '0.00000105' },
  }),
  offered('qwen/qwen4-coder', {
    name: 'Qwen4 Coder',
    context: 262_144,
    isOpen: true,
    provider: { prompt: '0.0000002', completion: '0.0000006' },
    pricing: { prompt: '0.00000021', completion: '0.00000063' },
  }),
  offered('meta/llama-5-70b', {
    name: 'Llama 5 70B',
    context: 131_072,
    isOpen: true,
    provider: { prompt: '0.00000028', completion: '0.00000044' },
    pricing: { prompt: '0.000000294', completion: '0.000000462' },
  }),
  offered('black-forest/flux-3', {
    name: 'FLUX 3',
    context: null,
    reads: ['text', 'image'],
    writes: ['image'],
    endpoints: ['images'],
    supports: [],
    provider: { prompt: '0', completion: '0', image: '0.04' },
    pricing: { prompt: '0', completion: '0', image: '0.042' },
  }),
  offered('openai/gpt-image-2', {
    name: 'GPT Image 2',
    context: 32_000,
    reads: ['text', 'image'],
    writes: ['image'],
    endpoints: ['images'],
    supports: [],
    provider: { prompt: '0', completion: '0', image_output: '0.00004' },
    pricing: { prompt: '0', completion: '0', image_output: '0.000042' },
  }),
  offered('openai/text-embed-4', {
    name: 'Text Embedding 4',
    context: 8_192,
    writes: ['embeddings'],
    endpoints: ['embeddings'],
    supports: [],
    provider: { prompt: '0.00000002', completion: '0' },
    pricing: { prompt: '0.000000021', completion: '0' },
  }),
  offered('sim/text', {
    name: 'Simulated text',
    provider: { prompt: '0.000001', completion: '0.000004' },
    pricing: { prompt: '0.00000105', completion: '0.0000042' },
  }),
  offered('sim/open', {
    name: 'Simulated open text',
    isOpen: true,
    provider: { prompt: '0', completion: '0' },
    pricing: { prompt: '0', completion: '0' },
  }),
]

/** The models at each upstream, as operators read them. */
export const OFFERED_MODELS: OfferedModels = {
  ...listOf(MANY),
  not_offered: [
    {
      upstream: 'openai',
      model: 'openai/omni-moderation',
      why: 'no price is known for it: to offer it, write `- { id: openai/omni-moderation, upstream_id: omni-moderation, prices: { input: …, output: … }, context: …, max_output: … }` below `models`',
    },
    {
      upstream: 'local',
      model: 'openai/gpt-6-mini',
      why: 'another upstream offers a model of this ID',
    },
    { upstream: 'openrouter', model: null, why: 'the row has no ID' },
  ],
}

/** The models as an account reads them. */
export const MODEL_LIST = listOf<Model>(MANY.map(asAccountsRead))

function asAccountsRead(model: OfferedModel): Model {
  const { upstream: _, provider_pricing: __, fee_basis_points: ___, ...charged } = model
  const { doubted: ____, listed_at: _____, stale: ______, ...offered } = charged
  const { prices_first_seen_at: _______, ...shown } = offered
  return shown
}
