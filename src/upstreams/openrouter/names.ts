import type { UpstreamNames } from '../../vocabulary/public-names.ts'

/** OpenRouter's names for what clients may ask for. */
export const OPENROUTER_NAMES: UpstreamNames = {
  fileEngine: 'cloudflare-ai',
  toolPrefix: 'openrouter:',
}
