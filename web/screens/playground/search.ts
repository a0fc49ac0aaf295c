import { setFields, textOf } from '../../format/address.ts'

/** The query parameters of the Playground, which have no typed text. */
interface PlaygroundSearch {
  readonly model?: string
}

/** Reads the query parameters of the Playground. */
export function readPlaygroundSearch({ model }: Record<string, unknown>): PlaygroundSearch {
  return setFields({ model: textOf(model) })
}
