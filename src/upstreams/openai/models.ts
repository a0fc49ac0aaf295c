import { undated } from '../listing/known-prices.ts'
import type { ModelFacts } from '../listing/vendor-list.ts'

// From developers.openai.com/api/docs/models and its page of each model, read on 2026-11-22, older models from the
// pages' stored editions. The list of OpenAI's API has ids alone.

const CHAT = ['chat', 'responses']
const RESPONSES = ['responses']

const WRITING = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'logprobs',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
]
const REASONING = [
  'max_completion_tokens',
  'reasoning',
  'reasoning_effort',
  'seed',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
]

const SEEING = { inputModalities: ['text', 'image', 'file'] }
const TEXT = { inputModalities: ['text'] }

const writing = (outputTokensMax: number): ModelFacts => ({
  outputTokensMax,
  ...SEEING,
  supportedParameters: WRITING,
  formats: CHAT,
})
const reasoning = (outputTokensMax: number, formats: readonly string[] = CHAT): ModelFacts => ({
  outputTokensMax,
  ...SEEING,
  supportedParameters: REASONING,
  formats,
})
const early = (outputTokensMax: number): ModelFacts => ({
  outputTokensMax,
  ...TEXT,
  supportedParameters: WRITING.filter((name) => name !== 'structured_outputs'),
  formats: CHAT,
})
const EMBEDDING: ModelFacts = {
  outputTokensMax: null,
  ...TEXT,
  outputModalities: ['embeddings'],
  supportedParameters: ['dimensions'],
  formats: ['embeddings'],
}

const MODELS: Readonly<Record<string, ModelFacts>> = {
  'gpt-6-sol': reasoning(128_000),
  'gpt-6-luna': reasoning(128_000),
  'gpt-6-astra': reasoning(128_000),
  'gpt-5.6': reasoning(128_000),
  'gpt-5.6-sol': reasoning(128_000),
  'gpt-5.6-terra': reasoning(128_000),
  'gpt-5.6-luna': reasoning(128_000),
  'gpt-5.5': reasoning(128_000),
  'gpt-5.5-pro': reasoning(128_000, RESPONSES),
  'gpt-5.4': reasoning(128_000),
  'gpt-5.4-mini': reasoning(128_000),
  'gpt-5.4-nano': reasoning(128_000),
  'gpt-5.4-pro': reasoning(128_000, RESPONSES),
  'gpt-5.3-codex': reasoning(128_000, RESPONSES),
  'gpt-5.2': reasoning(128_000),
  'gpt-5.2-pro': reasoning(128_000, RESPONSES),
  'gpt-5.2-codex': reasoning(128_000, RESPONSES),
  'gpt-5.1': reasoning(128_000),
  'gpt-5.1-codex': reasoning(128_000, RESPONSES),
  'gpt-5.1-codex-max': reasoning(128_000, RESPONSES),
  'gpt-5.1-codex-mini': reasoning(128_000, RESPONSES),
  'gpt-5': reasoning(128_000),
  'gpt-5-mini': reasoning(128_000),
  'gpt-5-nano': reasoning(128_000),
  'gpt-5-pro': reasoning(272_000, RESPONSES),
  o3: reasoning(100_000),
  'o3-mini': { ...reasoning(100_000), ...TEXT },
  'o3-pro': reasoning(100_000, RESPONSES),
  'o4-mini': reasoning(100_000),
  o1: reasoning(100_000),
  'o1-pro': reasoning(100_000, RESPONSES),
  'gpt-4.1': writing(32_768),
  'gpt-4.1-mini': writing(32_768),
  'gpt-4.1-nano': writing(32_768),
  'gpt-4o': writing(16_384),
  'gpt-4o-2024-05-13': writing(4_096),
  'gpt-4o-mini': writing(16_384),
  'gpt-4-turbo': { ...early(4_096), inputModalities: ['text', 'image'] },
  'gpt-4': early(8_192),
  'gpt-3.5-turbo': early(4_096),
  'gpt-3.5-turbo-instruct': {
    outputTokensMax: 4_096,
    ...TEXT,
    supportedParameters: ['max_tokens', 'temperature', 'top_p', 'stop', 'seed', 'logprobs'],
    formats: ['completions'],
  },
  'text-embedding-3-large': EMBEDDING,
  'text-embedding-3-small': EMBEDDING,
  'text-embedding-ada-002': { ...EMBEDDING, supportedParameters: [] },
}

/** What OpenAI documents of a model; null: not known. */
export function openaiFacts(upstreamModelId: string): ModelFacts | null {
  return MODELS[upstreamModelId] ?? MODELS[undated(upstreamModelId)] ?? null
}
