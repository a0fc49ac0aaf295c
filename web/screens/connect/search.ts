import { setFields, textOf } from '../../format/address.ts'

/** The query parameters of Connect. */
interface ConnectSearch {
  /** The id of a client. */
  readonly client?: string
  readonly model?: string
}

/** Reads the query parameters of Connect. */
export function readConnectSearch({ client, model }: Record<string, unknown>): ConnectSearch {
  return setFields({ client: textOf(client), model: textOf(model) })
}
