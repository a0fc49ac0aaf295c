/** Notes of a program as a person changes them: one a line, `plan: team`. */
export function typedMetadata(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** Reads metadata; null: a line has no name or no colon, or a name is given twice. */
export function readMetadata(typed: string): Readonly<Record<string, string>> | null {
  const lines = typed.split('\n').filter((line) => line.trim() !== '')
  const notes = lines.map((line) => {
    const [name = '', ...value] = line.split(':')
    return { name: name.trim(), value: value.join(':').trim(), isWhole: value.length > 0 }
  })
  const names = new Set(notes.map(({ name }) => name))
  if (names.has('') || names.size < notes.length) return null
  if (notes.some(({ isWhole }) => !isWhole)) return null
  return Object.fromEntries(notes.map(({ name, value }) => [name, value]))
}
