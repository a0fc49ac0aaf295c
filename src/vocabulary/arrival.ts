/** Request headers as Node gives them: names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** What is known of a request before anything of it is read. */
export interface Arrival {
  readonly headers: RequestHeaders
  /** Who is at the other end of its connection; undefined: the connection is closed by now. */
  readonly peerAddress: string | undefined
}
