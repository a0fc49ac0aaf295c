import { undated } from '../listing/known-prices.ts'
import type { ModelFacts } from '../listing/vendor-list.ts'

// From platform.claude.com/docs/en/models/overview and its page of each model, read on 2026-11-22. Anthropic's list
// has the window and the longest answer of each model, which are taken instead where they are there.

const claude = (outputTokensMax: number): ModelFacts => ({
  outputTokensMax,
  inputModalities: ['text', 'image', 'file'],
  supportedParameters: [
    'max_tokens',
    'temperature',
    'top_p',
    'top_k',
    'stop',
    'tools',
    'tool_choice',
    'reasoning',
  ],
})

const MODELS: Readonly<Record<string, ModelFacts>> = {
  'claude-fable-5-2': claude(128_000),
  'claude-fable-5-1': claude(128_000),
  'claude-fable-5': claude(128_000),
  'claude-opus-5-5': claude(128_000),
  'claude-opus-5': claude(128_000),
  'claude-sonnet-5-5': claude(128_000),
  'claude-sonnet-5': claude(128_000),
  'claude-haiku-5-5': claude(128_000),
  'claude-opus-4-8': claude(128_000),
  'claude-opus-4-7': claude(128_000),
  'claude-opus-4-6': claude(128_000),
  'claude-sonnet-4-6': claude(128_000),
  'claude-opus-4-5': claude(64_000),
  'claude-sonnet-4-5': claude(64_000),
  'claude-haiku-4-5': claude(64_000),
  'claude-opus-4-1': claude(32_000),
  'claude-opus-4-0': claude(32_000),
  'claude-opus-4': claude(32_000),
  'claude-sonnet-4-0': claude(64_000),
  'claude-sonnet-4': claude(64_000),
  'claude-3-7-sonnet': claude(64_000),
  'claude-3-5-haiku': claude(8_192),
  'claude-3-haiku': claude(4_096),
}

/** The facts that Anthropic documents about a model; null: not known. */
export function anthropicFacts(upstreamModelId: string): ModelFacts | null {
  return MODELS[upstreamModelId] ?? MODELS[undated(upstreamModelId)] ?? null
}

/**
 * A model by its author and name; null: not one of Anthropic's, but of a vendor that has their API at an address of
 * its own.
 */
export function anthropicId(upstreamModelId: string): string | null {
  return upstreamModelId.startsWith('claude-') ? `anthropic/${upstreamModelId}` : null
}
