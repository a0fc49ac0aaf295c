/** A list in slices, in its order. By position: the list, and the most members of a slice. */
export function* slicesOf<Member>(
  list: readonly Member[],
  most: number,
): Generator<readonly Member[]> {
  for (let start = 0; start < list.length; start += most) yield list.slice(start, start + most)
}
