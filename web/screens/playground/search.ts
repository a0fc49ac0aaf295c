/** The search of the Playground's address, without typed text. */
export interface PlaygroundSearch {
  readonly model?: string
}

/** Reads it. */
export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return typeof model === 'string' && model !== '' ? { model } : {}
}
