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
  { phrase: /\bstands? here\b/i, say: 'appears here' },
  { phrase: /\bhas not the\b/i, say: 'lacks the' },
  { phrase: /\ban own\b/i, say: 'its own' },
  { phrase: /\blet (?:\S+ ){1,3}go on\b/i, say: 'resume, continue' },
  { phrase: /\bis to be\b/i, say: 'must be, should be' },
  { phrase: /\bwaits? for its cost\b/i, say: 'is unsettled' },
  { phrase: /\bput right\b/i, say: 'fixed, corrected' },
  { phrase: /\bcan not\b(?! only)/i, say: 'cannot' },
  { phrase: /\bwhether [^.]{1,60} or not\b/i, say: 'whether' },
]

/** Words of the page, the command line and messages that have another word now: the glossary has it. */
const RETIRED_WORDS: readonly AvoidedPhrase[] = [
  { phrase: /\bbacked credit\b/i, say: 'paid credit' },
  { phrase: /\btak(?:e|en|ing) (?:credit )?back\b/i, say: 'removed, remove' },
  { phrase: /\bto settle$|^To settle\b/, say: 'unsettled' },
  { phrase: /\bwhat operators did\b/i, say: 'audit log' },
  { phrase: /\bneeds? a look\b/i, say: 'needs attention' },
  { phrase: /\brequests? (?:is |are )?under way\b/i, say: 'running requests' },
  { phrase: /\b(?:good|in|up) no more\b/i, say: 'no longer' },
  { phrase: /\bshows? up\b/i, say: 'appears' },
  { phrase: /\be-mail/i, say: 'email' },
  { phrase: /\bany more\b(?! than)/i, say: 'no longer' },
  {
    phrase: /\bwhat (?:\S+ ){0,4}requests? (?:\S+ ){0,4}(?:came|comes?) to\b/i,
    say: 'the usage, the sums',
  },
  { phrase: /\bexternal ids?\b/, say: 'external ID' },
]

/**
 * Documents and the texts of server and page (messages, help, descriptions) avoid constructions that readers
 * stumble over. Comments and names are not checked.
 */
export function checkPlainEnglish(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    textsOf(file).flatMap(({ text, line }) =>
      phrasesFor(file).flatMap(({ phrase, say }) => {
        const [found] = phrase.exec(text) ?? []
        if (found === undefined) return []
        return [{ path: file.path, line, message: `"${found}": say ${say}` }]
      }),
    ),
  )
}

// The words of their time stay in past releases and decisions.
const HISTORY = /^(?:CHANGELOG\.md|docs\/decisions\/|docs\/performance\.md)/

function phrasesFor({ path }: SourceFile): readonly AvoidedPhrase[] {
  return HISTORY.test(path) ? AVOIDED_PHRASES : [...AVOIDED_PHRASES, ...RETIRED_WORDS]
}

function isPageCode({ path }: SourceFile): boolean {
  return /^web\/.*\.tsx?$/.test(path) && !path.includes('.test.')
}

interface ShownText {
  readonly text: string
  readonly line: number
}

function textsOf(file: SourceFile): readonly ShownText[] {
  // Text in backticks is code.
  if (file.path.endsWith('.md')) {
    return readMarkdown(file.text).prose.map(({ text, line }) => ({
      text: text.replace(/`[^`]*`/g, ''),
      line,
    }))
  }
  if (!(isServerCode(file) || isPageCode(file)) || file.path === WORD_LIST) return []
  const { program, lineAt } = file.syntax()
  return nodesOf(program).flatMap((node) => {
    const text =
      node.type === 'Literal' && typeof node.value === 'string'
        ? node.value
        : node.type === 'TemplateElement'
          ? node.value.raw
          : node.type === 'JSXText'
            ? node.value.replace(/\s+/g, ' ')
            : ''
    // One word alone is a name.
    return text.trim().includes(' ') ? [{ text, line: lineAt(node.start) }] : []
  })
}
