/** What the address of the models says. */
export interface ModelsSearch {
  /** A part of an id or a name. */
  readonly find?: string
  /** Those alone that free credit pays for. */
  readonly open?: true
}

/** Reads it. */
export function readModelsSearch({ find, open }: Record<string, unknown>): ModelsSearch {
  return {
    ...(typeof find === 'string' && find !== '' ? { find } : {}),
    ...(open === 'true' || open === true ? { open: true as const } : {}),
  }
}
