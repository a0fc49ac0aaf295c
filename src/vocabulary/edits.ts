type Names = readonly [string, string]

/**
 * Whether one name may be meant for the other: one letter differs, or two where both have at least twice `charsMin`
 * letters. Names with fewer than `charsMin` are near none.
 */
export function areNear([one, other]: Names, charsMin: number): boolean {
  const chars = Math.min(one.length, other.length)
  const editsMax = chars < 2 * charsMin ? 1 : 2
  // Most names differ by far, and a start of the gateway compares each variable with each setting.
  if (chars < charsMin || Math.abs(one.length - other.length) > editsMax) return false
  return editsBetween([one, other]) <= editsMax
}

/** How many letters must be added, left out, changed or swapped with the next to make one text the other. */
export function editsBetween([one, other]: Names): number {
  let earlier: number[] = []
  let before = Array.from({ length: other.length + 1 }, (_, at) => at)
  let next = [...before]
  for (let row = 0; row < one.length; row++) {
    next[0] = row + 1
    for (let column = 0; column < other.length; column++) {
      const changed = (before[column] ?? 0) + (one[row] === other[column] ? 0 : 1)
      const isSwap = one[row] === other[column - 1] && one[row - 1] === other[column]
      const swapped = isSwap ? (earlier[column - 1] ?? row) + 1 : changed
      const added = (before[column + 1] ?? 0) + 1
      next[column + 1] = Math.min(changed, swapped, added, (next[column] ?? 0) + 1)
    }
    const free = earlier.length === 0 ? [...before] : earlier
    earlier = before
    before = next
    next = free
  }
  return before[other.length] ?? 0
}
