/** A JSON object's fields; null for anything else, arrays among them. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null
}

/** An array whose every element is a string; null for anything else. */
export function readStrings(value: unknown): readonly string[] | null {
  if (!Array.isArray(value)) return null
  const strings: string[] = []
  for (const element of value) {
    if (typeof element !== 'string') return null
    strings.push(element)
  }
  return strings
}

/** Whether a value is a whole number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
