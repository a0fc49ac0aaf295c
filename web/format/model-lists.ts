import type { Terms } from './terms.ts'

/** Whether lists of models let a model pass, as the gateway decides it: `author/*` is all models of an author, and case does not count. */
export function allowsModel(lists: Terms['models'], modelId: string): boolean {
  if (lists === null) return true
  const isIn = (patterns: readonly string[]) => patterns.some((one) => matches(one, modelId))
  return !isIn(lists.deny) && (lists.allow.length === 0 || isIn(lists.allow))
}

/** The patterns of a list that match none of these model IDs. */
export function unmatchedPatterns(
  patterns: readonly string[],
  modelIds: readonly string[],
): readonly string[] {
  return patterns.filter((pattern) => !modelIds.some((id) => matches(pattern, id)))
}

function matches(pattern: string, modelId: string): boolean {
  const [wanted, id] = [pattern.toLowerCase(), modelId.toLowerCase()]
  return wanted.endsWith('/*') ? id.startsWith(wanted.slice(0, -1)) : id === wanted
}
