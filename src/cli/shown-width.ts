/** Characters that take two columns of a terminal, such as Chinese, Japanese and Korean ones and emoji. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u

/** Finds the characters that a person sees: an accent, or the second half of an emoji, is part of one. */
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

// A table of plain text is measured without them.
const PLAIN = /^[ -~…]*$/

/** How many columns of a terminal a text takes. */
export function shownWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of SEGMENTER.segment(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** The text, cut to a width: the end of a longer one is "…", and an amount is cut whole. */
export function fittedTo(width: number, text: string): string {
  if (shownWidth(text) <= width) return text
  let cut = ''
  let left = width - 1
  for (const { segment } of SEGMENTER.segment(text)) {
    left -= shownWidth(segment)
    if (left < 0) break
    cut += segment
  }
  // A part of an amount would be another amount.
  return `${cut.replace(/\S*\$[\d.,]*$/, '')}…`
}
