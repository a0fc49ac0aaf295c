/** The result of one check of `tollgate doctor`. */
export interface Finding {
  /** The subject of the check, such as `store` or `upstream openai`. */
  readonly check: string
  /** `warning`: needs attention, and requests run nevertheless. `failed`: requests or payments do not work. */
  readonly state: 'ok' | 'warning' | 'failed'
  /** The finding; unless the state is `ok`, also what to do. */
  readonly message: string
}

/** A duration as a person reads it: `40 s`, `12 min`, `3 h` or `4 days`. */
export function durationText(durationMs: number): string {
  const seconds = Math.max(0, Math.round(durationMs / 1_000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}
