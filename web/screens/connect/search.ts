/** The search of Connect's address. */
export interface ConnectSearch {
  /** The id of a client. */
  readonly client?: string
  readonly model?: string
}

/** Reads it. */
export function readConnectSearch({ client, model }: Record<string, unknown>): ConnectSearch {
  return {
    ...(typeof client === 'string' && client !== '' ? { client } : {}),
    ...(typeof model === 'string' && model !== '' ? { model } : {}),
  }
}
