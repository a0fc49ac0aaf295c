import type { ParsedCatalog } from '../upstreams/listing/listing.ts'
import type { UpstreamSettings } from '../upstreams/upstream-settings.ts'

/** Which of an upstream's models are offered. */
export type Narrowing = Pick<UpstreamSettings, 'only' | 'except'>

/** The list without the models that are not offered. */
export function narrowed(parsed: ParsedCatalog, { only, except }: Narrowing): ParsedCatalog {
  if (only === null && except.length === 0) return parsed
  const isOffered = offeredBy({ only, except })
  return {
    models: parsed.models.filter(({ offer }) => isOffered(offer.modelId)),
    unreadableIds: new Set([...parsed.unreadableIds].filter(isOffered)),
    skipped: parsed.skipped.filter(({ modelId }) => modelId === null || isOffered(modelId)),
  }
}

/** Whether a catalog id is offered. */
export function offeredBy({ only, except }: Narrowing): (modelId: string) => boolean {
  const isIn = only === null ? () => true : matcher(only)
  const isOut = matcher(except)
  return (modelId) => isIn(modelId) && !isOut(modelId)
}

const ALL_OF_AUTHOR = '/*'

function matcher(patterns: readonly string[]): (modelId: string) => boolean {
  const exact = new Set(patterns)
  return (modelId) => {
    const author = modelId.slice(0, modelId.indexOf('/'))
    return exact.has(modelId) || exact.has(`${author}${ALL_OF_AUTHOR}`)
  }
}
