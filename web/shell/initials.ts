/** The two letters of a name. */
export function initials(name: string): string {
  const words = name.trim().split(/[\s@._-]+/)
  const [first = '', second = ''] = words
  const letters = second === '' ? first.slice(0, 2) : `${first.slice(0, 1)}${second.slice(0, 1)}`
  return letters.toUpperCase()
}
