/** Percent of a limit or of credit that are used, at which owners of the account hear of it, each once. */
const ALERT_STEPS = [100, 90, 75] as const

/** One of them. */
export type AlertStep = (typeof ALERT_STEPS)[number]

/** The highest step that a use has reached; null: none, or there was nothing to use. */
export function alertStep(usedMicros: number, ofMicros: number | null): AlertStep | null {
  if (ofMicros === null || ofMicros <= 0) return null
  // Amounts are below 2^53 / 100 by far: 90 million dollars.
  return ALERT_STEPS.find((step) => usedMicros * 100 >= ofMicros * step) ?? null
}

/** The step, and those below it. */
export function stepsUpTo(step: AlertStep): readonly AlertStep[] {
  return ALERT_STEPS.filter((each) => each <= step)
}
