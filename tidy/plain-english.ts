import { readMarkdown } from './markdown.ts'
import { isServerCode, type SourceFile, type Violation } from './source-tree.ts'
import { nodesOf } from './syntax.ts'

interface AvoidedPhrase {
  readonly phrase: RegExp
  readonly say: string
}

/** A list of English words, which has every common word. */
const WORD_LIST = 'src/tokens/common-words.ts'

/** Words and constructions that hide who does what, and the words to use in their place. */
const AVOIDED_PHRASES: readonly AvoidedPhrase[] = [
  { phrase: /\b(?:whoever|whomever|whom)\b/i, say: 'the client, the admin, the operator' },
  { phrase: /\bwhatever\b/i, say: 'the thing, by its name' },
  { phrase: /\b(?:nobody|anybody)\b/i, say: 'no client, no server: the party, by its name' },
  { phrase: /\btold\b/i, say: 'answered, sent, configured, reported' },
  { phrase: /\bat all:/i, say: 'any, before the noun' },
  { phrase: /\bwhat there is\b/i, say: 'the thing, by its name' },
  { phrase: /\bat the (?:most|least)\b/i, say: 'at most, at least' },
  { phrase: /\bin vain\b/i, say: 'without success' },
  { phrase: /\ball the same\b/i, say: 'nevertheless, although' },
  { phrase: /\banew\b/i, say: 'again' },
  { phrase: /\bas one likes\b/i, say: 'often' },
]

/**
 * Pages and the texts of the server (messages, help, descriptions) avoid constructions that readers
 * stumble over. Comments and names are not checked.
 */
export function checkPlainEnglish(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    textsOf(file).flatMap(({ text, line }) =>
      AVOIDED_PHRASES.flatMap(({ phrase, say }) => {
        const [found] = phrase.exec(text) ?? []
        if (found === undefined) return []
        return [{ path: file.path, line, message: `"${found}": say ${say}` }]
      }),
    ),
  )
}

interface ShownText {
  readonly text: string
  readonly line: number
}

function textsOf(file: SourceFile): readonly ShownText[] {
  // What stands in backticks is code.
  if (file.path.endsWith('.md')) {
    return readMarkdown(file.text).prose.map(({ text, line }) => ({
      text: text.replace(/`[^`]*`/g, ''),
      line,
    }))
  }
  if (!isServerCode(file) || file.path === WORD_LIST) return []
  const { program, lineAt } = file.syntax()
  return nodesOf(program).flatMap((node) => {
    const text =
      node.type === 'Literal' && typeof node.value === 'string'
        ? node.value
        : node.type === 'TemplateElement'
          ? node.value.raw
          : ''
    // One word alone is a name.
    return text.trim().includes(' ') ? [{ text, line: lineAt(node.start) }] : []
  })
}
