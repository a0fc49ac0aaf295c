import { setFields, textOf } from '../../format/address.ts'

/** The search of Connect's address. */
export interface ConnectSearch {
  /** The id of a client. */
  readonly client?: string
  readonly model?: string
}

/** Reads it. */
export function readConnectSearch({ client, model }: Record<string, unknown>): ConnectSearch {
  return setFields({ client: textOf(client), model: textOf(model) })
}
