/** Characters that take two columns of a terminal, such as Chinese, Japanese and Korean ones and emoji. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u

// A text of plain characters is measured without a segmenter, and a server makes none.
const PLAIN = /^[ -~…]*$/

let segmenter: Intl.Segmenter | null = null

/** The characters that a person sees: an accent, or the second half of an emoji, is part of one. */
export function charactersOf(text: string): readonly string[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** How many columns of a terminal a text takes. */
export function shownWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  return charactersOf(text).reduce((sum, each) => sum + (WIDE.test(each) ? 2 : 1), 0)
}

// A command in backticks is pasted whole.
const WORDS = /(?:`[^`]*`|[^ `]|`)+/g

/** The lines of a text, broken between words; a word that is wider than a line has one to itself. By position: the width, the text. */
export function brokenAt(width: number, text: string): readonly string[] {
  const lines: string[] = []
  for (const word of text.match(WORDS) ?? ['']) {
    const line = lines.at(-1)
    const longer = line === undefined ? word : `${line} ${word}`
    if (line === undefined || shownWidth(longer) > width) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

// Characters that turn the direction of the text after them, so that a name could rewrite the rest of its line.
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g

/** A text with an escape in place of each character that turns the direction of text. In JSON the escape means the same. */
export function withoutTurns(text: string): string {
  return text.replace(TURNS, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
}
