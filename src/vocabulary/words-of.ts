/** The words of a text, in order: long lists are written as one. */
export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}
