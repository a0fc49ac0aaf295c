import { Lexer, type Token } from 'marked'

// Models can write anything. Beyond these bounds the lexer takes seconds, or runs out of stack.
const ANSWER_CHARS_MAX = 200_000
const PARAGRAPH_CHARS_MAX = 4_000
const DEEPLY_NESTED = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d+[.)](?=[ \t]))){30}/m

/** The blocks of an answer in Markdown. Null: it is shown as plain text. */
export function readMarkdown(text: string): readonly Token[] | null {
  if (text.length > ANSWER_CHARS_MAX || DEEPLY_NESTED.test(text)) return null
  try {
    return new AnswerLexer({ gfm: true, breaks: false }).lex(text)
  } catch {
    return null
  }
}

/** A lexer that leaves a very long paragraph as it was written. */
class AnswerLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= PARAGRAPH_CHARS_MAX) return super.inlineTokens(text, tokens)
    tokens.push({ type: 'escape', raw: text, text })
    return tokens
  }
}
