/** What the address of the keys says. */
export interface KeysSearch {
  /** Whether the form for a new key is open. */
  readonly create?: true
}

/** Reads it. */
export function readKeysSearch({ create }: Record<string, unknown>): KeysSearch {
  return create === 'true' || create === true ? { create: true } : {}
}
