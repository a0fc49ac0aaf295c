import { setFields, textOf } from '../../format/address.ts'

/** The search of the Playground's address, without typed text. */
export interface PlaygroundSearch {
  readonly model?: string
}

/** Reads it. */
export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return setFields({ model: textOf(model) })
}
