import type { UpstreamWords } from '../../vocabulary/public-names.ts'

/** What OpenRouter calls what clients may ask for. */
export const OPENROUTER_WORDS: UpstreamWords = {
  fileEngine: 'cloudflare-ai',
  toolPrefix: 'openrouter:',
}
