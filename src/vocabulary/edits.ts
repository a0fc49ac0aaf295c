/** How many letters must be added, left out, changed or swapped with the next to make one text the other. */
export function editsBetween([one, other]: readonly [string, string]): number {
  // A start of the gateway compares each variable with each setting: the rows are used again.
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
