import { allowsModel, modelLists } from '../../src/vocabulary/model-lists.ts'
import type { Terms } from './terms.ts'

/** Whether the lists of a key or an account let a model pass. */
export function mayUse(models: Terms['models'], modelId: string): boolean {
  return allowsModel(models && modelLists(models), modelId)
}

/** The patterns of a list that match none of these model IDs. */
export function unmatchedPatterns(
  patterns: readonly string[],
  modelIds: readonly string[],
): readonly string[] {
  return patterns.filter(
    (pattern) => !modelIds.some((id) => mayUse({ allow: [pattern], deny: [] }, id)),
  )
}
