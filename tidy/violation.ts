/** One place that breaks a rule of the house. */
export interface Violation {
  /** Path below the root of the tree, with forward slashes. */
  readonly path: string
  /** Counted from 1; null where the file as a whole is at fault. */
  readonly line: number | null
  /** What is wrong and what to write instead. */
  readonly message: string
}

/** The violation as an editor's terminal makes it a link: `path:line message`. */
export function describeViolation({ path, line, message }: Violation): string {
  return `${path}${line === null ? '' : `:${line}`} ${message}`
}
