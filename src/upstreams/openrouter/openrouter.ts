import type { Dialect } from '../upstream.ts'
import {
  fetchEndpoints,
  fetchImageEndpoints,
  fetchModels,
  parseEndpointTerms,
  parseFlatImagePrice,
  parseModels,
} from './catalog.ts'
import { chat, completions, embeddings, images } from './chat.ts'
import { fetchGeneration, fetchKeyUsage } from './look-ups.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

/** OpenRouter, and servers of its layout. */
export const openrouter: Dialect = {
  baseUrl: 'https://openrouter.ai/api/v1',
  parsesFiles: true,
  billsLeftCalls: true,
  hasCatalogIds: true,
  headers: (apiKey) => (apiKey === null ? [] : ['authorization', `Bearer ${apiKey}`]),
  wires: new Map(Object.entries({ chat, completions, embeddings, images, messages, responses })),
  usualFormats: null,
  fetchModels: async (upstream, settings) => parseModels(await fetchModels(upstream), settings),
  fetchHighestTerms: async (upstream, modelId, bounds) =>
    parseEndpointTerms(await fetchEndpoints(upstream, modelId, bounds)),
  async fetchFlatImagePrice(upstream, modelId) {
    const page = await fetchImageEndpoints(upstream, modelId)
    return page === null ? 0n : parseFlatImagePrice(page)
  },
  fetchGeneration,
  fetchKeyUsage,
}
