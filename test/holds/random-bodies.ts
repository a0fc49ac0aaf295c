import fc from 'fast-check'
import type { CatalogRow } from '../../simulator/catalog.ts'
import { CATALOG_ROWS, catalogRow } from '../../simulator/catalog-rows.ts'
import { PNG_BASE64 } from '../../simulator/formats/format.ts'

/** A body for an endpoint, whose options may make it longer, more expensive or several. */
export interface RandomBody {
  readonly endpoint: string
  readonly body: Readonly<Record<string, unknown>>
}

type Members = Readonly<Record<string, unknown>>
type Arbitrary = fc.Arbitrary<Members>

/** Models in addition to the simulator's: a listed faster tier, thoughts that cost more, ignored caps. */
export const ROWS: readonly CatalogRow[] = [
  ...CATALOG_ROWS,
  catalogRow({
    id: 'sim/cached-fast',
    name: 'Simulator: Cached (fast)',
    description: 'The faster tier of sim/cached.',
    pricing: {
      prompt: '0.000024',
      completion: '0.00012',
      input_cache_read: '0.0000024',
      input_cache_write: '0.00003',
      input_cache_write_1h: '0.000048',
      request: '0.001',
    },
    contextTokens: 200_000,
    outputTokensMax: 64_000,
  }),
  catalogRow({
    id: 'sim/open-fast',
    name: 'Simulator: Open (fast)',
    description: 'A smaller model of that name, which is cheaper.',
    pricing: { prompt: '0.0000001', completion: '0.0000002' },
    contextTokens: 32_768,
    outputTokensMax: 8192,
  }),
  catalogRow({
    id: 'sim/thinker',
    name: 'Simulator: Thinker',
    description: 'Thoughts cost more than what is said, and caches are written unasked.',
    pricing: {
      prompt: '0.000002',
      completion: '0.000008',
      internal_reasoning: '0.00002',
      input_cache_write: '0.0000025',
      overrides: [
        { min_prompt_tokens: 2_000, prompt: '0.000005', completion: '0.00002' },
        { min_prompt_tokens: 20_000, prompt: '0.000006', completion: '0.000025' },
      ],
    },
    contextTokens: 64_000,
    outputTokensMax: 4_096,
    inputs: ['text', 'image', 'file', 'video'],
  }),
  catalogRow({
    id: 'sim/heedless',
    name: 'Simulator: Heedless',
    description: 'Takes no cap.',
    pricing: { prompt: '0.000001', completion: '0.000003' },
    contextTokens: 32_000,
    outputTokensMax: 2_000,
    parameters: ['temperature', 'tools'],
  }),
  catalogRow({
    id: 'sim/one-cap',
    name: 'Simulator: One Cap',
    description: 'Knows one name of the cap.',
    pricing: { prompt: '0.000001', completion: '0.000003' },
    contextTokens: 32_000,
    outputTokensMax: 4_000,
    parameters: ['max_tokens', 'temperature', 'tools'],
  }),
]

const TEXT_MODELS = [
  'sim/text',
  'sim/open',
  'sim/uncapped',
  'sim/unknown-window',
  'sim/files',
  'sim/vision',
  'sim/tiered',
  'sim/cached',
  'sim/no-cost',
  'sim/dated',
  'sim/thinker',
  'sim/heedless',
  'sim/one-cap',
]

const IMAGE_URL = 'https://example.com/a.png'
const IMAGE_DATA = `data:image/png;base64,${PNG_BASE64}`
const PDF_DATA = 'data:application/pdf;base64,JVBERi0='

// The simulator takes four characters for a token. No common word of five has as many.
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constant('Hi') },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 1, max: 3_000 }).map((words) => 'zqxj '.repeat(words)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 200 }) },
)
const capTokens = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.integer({ min: 1_000, max: 30_000 }),
  fc.integer({ min: 30_000, max: 300_000 }),
  fc.constantFrom(1_000_000, 1e15),
)
const few = fc.integer({ min: 1, max: 4 })

/** These members in about one of so many bodies. */
function seldom(oneOf: number, members: Arbitrary): Arbitrary {
  return fc.oneof(
    { weight: oneOf - 1, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: members },
  )
}

/** A member of this name, with one of these values. */
function member(name: string, value: fc.Arbitrary<unknown>): Arbitrary {
  return value.map((chosen) => ({ [name]: chosen }))
}

/** The members of all, later ones in the place of earlier ones. */
function joined(...parts: readonly Arbitrary[]): Arbitrary {
  return fc.tuple(...parts).map((all) => Object.assign({}, ...all) as Members)
}

const tier = fc.oneof(
  member(
    'service_tier',
    fc.constantFrom('priority', 'fast', 'turbo', 'auto', 'default', 'flex', null),
  ),
  member('speed', fc.constantFrom('fast', 'standard')),
)
const searchSettings = fc.record(
  {
    max_results: fc.integer({ min: 1, max: 25 }),
    max_characters: fc.integer({ min: 1, max: 20_000 }),
    max_uses: fc.constantFrom<unknown>(0, 1, 5, 29, 31, 500, null, '3'),
  },
  { requiredKeys: [] },
)
const stepLimits = joined(
  seldom(2, member('max_tool_calls', fc.constantFrom(0, 1, 2, 7, 8, 30, 31, 1_000))),
  seldom(6, fc.constant({ stop_server_tools_when: [{ type: 'step_count_is', step_count: 100 }] })),
)
const chatSearch = joined(
  fc.oneof(
    searchSettings.map((settings) => ({ tools: [{ type: 'web_search', ...settings }] })),
    searchSettings.map((parameters) => ({
      tools: [
        { type: 'function', name: 'f', function: { name: 'f', parameters: {} } },
        { type: 'openrouter:web_search', parameters },
      ],
    })),
  ),
  stepLimits,
)
const messagesSearch = joined(
  fc
    .array(
      fc
        .tuple(
          fc.constantFrom('web_search_20250305', 'openrouter:web_search'),
          searchSettings,
          fc.oneof(
            fc.constant({}),
            searchSettings.map((parameters) => ({ parameters })),
          ),
        )
        .map(([type, settings, own]) => ({ type, name: 'web_search', ...settings, ...own })),
      { minLength: 1, maxLength: 2 },
    )
    .map((tools) => ({ tools })),
  stepLimits,
)
const prediction = text.map((content) => ({ prediction: { type: 'content', content } }))
const freeParser = { plugins: [{ id: 'file-parser', pdf: { engine: 'hosted-ai' } }] }

/** Options that the text formats have in common. */
const options = joined(
  seldom(4, tier),
  seldom(4, prediction),
  seldom(4, member('reasoning', fc.record({ max_tokens: capTokens }))),
  seldom(5, member('stream', fc.boolean())),
)
const compaction = fc.constantFrom(
  { context_management: { edits: [{ type: 'compact_20260112' }] } },
  { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
  { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
)
const cacheMark = fc.constantFrom(
  { cache_control: { type: 'ephemeral' } },
  { cache_control: { type: 'ephemeral', ttl: '1h' } },
  { prompt_cache_options: { ttl: '1h' } },
  { prompt_cache_retention: '24h' },
)

/** Parts of a message: text, which may be marked for the cache, and media. */
function parts(media: readonly Members[], type: string): fc.Arbitrary<readonly Members[]> {
  const written = joined(
    text.map((content) => ({ type, text: content })),
    seldom(3, cacheMark),
  )
  return fc.array(
    media.length === 0
      ? written
      : fc.oneof(
          { weight: 3, arbitrary: written },
          { weight: 1, arbitrary: fc.constantFrom(...media) },
        ),
    { minLength: 1, maxLength: 3 },
  )
}

const CHAT_MEDIA: readonly Members[] = [
  { type: 'image_url', image_url: { url: IMAGE_URL } },
  { type: 'image_url', image_url: { url: IMAGE_DATA } },
  { type: 'file', file: { filename: 'a.pdf', file_data: PDF_DATA } },
  { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
]
const MESSAGES_MEDIA: readonly Members[] = [
  { type: 'image', source: { type: 'url', url: IMAGE_URL } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG_BASE64 } },
  { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
]
const RESPONSES_MEDIA: readonly Members[] = [
  { type: 'input_image', image_url: IMAGE_URL },
  { type: 'input_image', image_url: IMAGE_DATA },
  { type: 'input_file', filename: 'a.pdf', file_data: PDF_DATA },
]

const model = (models: readonly string[]): Arbitrary => member('model', fc.constantFrom(...models))

const chat = joined(
  model([...TEXT_MODELS, 'sim/image-chat', 'sim/image-chat']),
  parts(CHAT_MEDIA, 'text').map((content) => ({ messages: [{ role: 'user', content }] })),
  seldom(2, member('max_tokens', capTokens)),
  seldom(4, member('max_completion_tokens', capTokens)),
  seldom(4, member('n', few)),
  seldom(6, fc.constant({ modalities: ['image', 'text'] })),
  seldom(3, chatSearch),
  seldom(8, fc.constant({ web_search_options: {} })),
  options,
)
const completions = joined(
  model(TEXT_MODELS),
  fc.oneof(
    member('prompt', text),
    member('prompt', fc.array(text, { minLength: 1, maxLength: 3 })),
    member('prompt', fc.array(fc.nat(50_000), { minLength: 1, maxLength: 50 })),
    member(
      'prompt',
      fc.array(fc.array(fc.nat(50_000), { minLength: 1 }), { minLength: 1, maxLength: 3 }),
    ),
  ),
  seldom(2, member('max_tokens', capTokens)),
  seldom(3, member('n', few)),
  seldom(3, member('best_of', few)),
  options,
)
const messages = joined(
  model(TEXT_MODELS),
  parts(MESSAGES_MEDIA, 'text').map((content) => ({ messages: [{ role: 'user', content }] })),
  member('max_tokens', capTokens),
  seldom(
    4,
    member('thinking', fc.record({ type: fc.constant('enabled'), budget_tokens: capTokens })),
  ),
  seldom(4, compaction),
  seldom(3, messagesSearch),
  fc.constant(freeParser),
  options,
)
const responses = joined(
  model(TEXT_MODELS),
  parts(RESPONSES_MEDIA, 'input_text').map((content) => ({ input: [{ role: 'user', content }] })),
  member('max_output_tokens', capTokens),
  seldom(4, compaction),
  seldom(3, chatSearch),
  fc.constant(freeParser),
  options,
)
const embeddings = joined(
  model(['sim/embed']),
  fc.oneof(
    member('input', text),
    member('input', fc.array(text, { minLength: 1, maxLength: 5 })),
    member('input', fc.array(fc.nat(50_000), { minLength: 1, maxLength: 50 })),
  ),
)
const images = joined(
  model(['sim/image', 'sim/image-flat', 'sim/image-chat']),
  member('prompt', text),
  seldom(2, member('n', fc.integer({ min: 1, max: 10 }))),
)

function of(endpoint: string, body: Arbitrary): fc.Arbitrary<RandomBody> {
  return body.map((members) => ({ endpoint, body: members }))
}

/** Bodies of the endpoints whose hold is an upper bound of their charge. */
export const randomBody: fc.Arbitrary<RandomBody> = fc.oneof(
  { weight: 4, arbitrary: of('chat', chat) },
  { weight: 2, arbitrary: of('completions', completions) },
  { weight: 3, arbitrary: of('messages', messages) },
  { weight: 3, arbitrary: of('responses', responses) },
  { weight: 1, arbitrary: of('embeddings', embeddings) },
)

/** Bodies of the images endpoint, whose hold has its own figure. */
export const randomImagesBody: fc.Arbitrary<RandomBody> = of('images', images)
