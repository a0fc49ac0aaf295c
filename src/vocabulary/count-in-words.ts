/** A whole number as people read it: `12,000`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** A number with its noun, which takes an s in the plural: `1 request`, `3 requests`. */
export function countInWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
