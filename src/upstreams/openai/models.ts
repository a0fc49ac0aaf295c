import type { PromptAdditions } from '../../vocabulary/offer.ts'
import { undated } from '../listing/known-prices.ts'
import type { ModelFacts } from '../listing/vendor-list.ts'

// From developers.openai.com/api/docs/models and its page of each model, read on 2026-11-22. The list of OpenAI's API has
// only ids. Models that were shut down by then (developers.openai.com/api/docs/deprecations: on 2026-10-23 gpt-3.5-turbo,
// gpt-4, gpt-4-turbo, gpt-4o-2024-05-13, gpt-4.1-nano, o1, o1-pro, o3-mini and o4-mini) have no row.

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
const EMBEDDING: ModelFacts = {
  outputTokensMax: null,
  inputModalities: ['text'],
  outputModalities: ['embeddings'],
  supportedParameters: ['dimensions'],
  formats: ['embeddings'],
}

const MODELS: Readonly<Record<string, ModelFacts>> = {
  // The list of models was read again on 2026-11-28. These four have no prices in the package.
  'gpt-6.2-astra': reasoning(128_000),
  'gpt-6.2-sol': reasoning(128_000),
  'gpt-6.1-sol': reasoning(128_000),
  'gpt-6.1-terra': reasoning(128_000),
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
  'o3-pro': reasoning(100_000, RESPONSES),
  'gpt-4.1': writing(32_768),
  'gpt-4.1-mini': writing(32_768),
  'gpt-4o': writing(16_384),
  'gpt-4o-mini': writing(16_384),
  'text-embedding-3-large': EMBEDDING,
  'text-embedding-3-small': EMBEDDING,
  'text-embedding-ada-002': { ...EMBEDDING, supportedParameters: [] },
}

/** The facts that OpenAI documents about a model; null: not known. */
export function openaiFacts(upstreamModelId: string): ModelFacts | null {
  return MODELS[upstreamModelId] ?? MODELS[undated(upstreamModelId)] ?? null
}

/**
 * The tokens that OpenAI adds to a prompt. Its cookbook (How to count tokens with tiktoken, read 2026-11-25) counts
 * three tokens a message and three for the answer, which the JSON of a message exceeds, and twelve around all tools.
 * These figures are about eight times as high.
 */
export const OPENAI_ADDITIONS: PromptAdditions = { templateTokens: 64, toolTokens: 96 }

const FINE_TUNED = /^ft:/

/** A model by its author and name; a fine-tuned model has the name of its base model. */
export function openaiId(upstreamModelId: string): string {
  return `openai/${upstreamModelId.replace(FINE_TUNED, '')}`
}
