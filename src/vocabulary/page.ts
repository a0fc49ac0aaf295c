/** Selects a page of a list. */
export interface Page {
  /** The last id of the page before; null or absent: the first page. */
  readonly cursor?: string | null | undefined
  readonly limit: number
}
