/** The models that an API key or an account may use: model IDs and `author/*`, all in lower case. */
export interface ModelLists {
  /** Empty: all models but those of `deny`. */
  readonly allow: ReadonlySet<string>
  readonly deny: ReadonlySet<string>
}

/** Decides which models a caller may use, by their catalog IDs. */
export interface ModelChoice {
  mayUse(modelId: string): boolean
}

/** Makes lists of patterns in any case. */
export function modelLists({
  allow,
  deny,
}: {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}): ModelLists {
  const folded = (patterns: readonly string[]) =>
    new Set(patterns.map((pattern) => pattern.toLowerCase()))
  return { allow: folded(allow), deny: folded(deny) }
}

/** Whether lists let a model pass; null lets all pass. The case of the ID does not matter. */
export function allowsModel(lists: ModelLists | null, modelId: string): boolean {
  if (lists === null) return true
  const name = modelId.toLowerCase()
  const ofAuthor = `${name.slice(0, name.indexOf('/'))}/*`
  if (lists.deny.has(name) || lists.deny.has(ofAuthor)) return false
  return lists.allow.size === 0 || lists.allow.has(name) || lists.allow.has(ofAuthor)
}
