import { editsBetween } from '../vocabulary/edits.ts'

/** Names that other services give a field, or that other operations have for it. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['from', 'since'],
  ['since', 'from'],
  ['to', 'until'],
  ['until', 'to'],
])

/** A shorter name is near to many a word. */
const CHARS_MIN = 4

/** The known field that a client meant by an unknown one; null: none is near. */
export function nearField(unknown: string, known: readonly string[]): string | null {
  const typed = unknown
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  const tests: readonly ((field: string) => boolean)[] = [
    (field) => field === typed,
    (field) => OTHER_WORDS.get(typed) === field,
    (field) => field.split('_').includes(typed),
    (field) => isNear([typed, field]),
  ]
  for (const test of tests) {
    const found = known.find(test)
    if (found !== undefined) return found
  }
  return null
}

/** By position: what was typed, and a field. */
function isNear(names: readonly [string, string]): boolean {
  const chars = Math.min(...names.map((name) => name.length))
  // Most names differ by far, and a body can have long ones.
  if (Math.abs(names[0].length - names[1].length) > 2) return false
  return chars >= CHARS_MIN && editsBetween(names) <= (chars < 2 * CHARS_MIN ? 1 : 2)
}
