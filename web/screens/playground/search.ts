/** What the address of the Playground says: nothing of what is written there. */
export interface PlaygroundSearch {
  readonly model?: string
}

/** Reads it. */
export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return typeof model === 'string' && model !== '' ? { model } : {}
}
