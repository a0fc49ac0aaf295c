import type { Node } from 'oxc-parser'
import { type ProseLine, readMarkdown } from './markdown.ts'
import { type Fault, fileRule, isCode, isServerCode, type SourceFile } from './source-tree.ts'
import { nodesOf } from './syntax.ts'

type AvoidedPhrase = readonly [phrase: RegExp, say: string]

/** A list of English words, which has every common word. */
const WORD_LIST = 'src/tokens/common-words.ts'

/** Words and constructions that hide who does what, and the words to use in their place. */
const AVOIDED_PHRASES: readonly AvoidedPhrase[] = [
  [/\b(?:whoever|whomever|whom)\b/i, 'the client, the admin, the operator'],
  [/\bwhatever\b/i, 'the thing, by its name'],
  [/\b(?:nobody|anybody)\b/i, 'no client, no server: the party, by its name'],
  [/\btold\b/i, 'answered, sent, configured, reported'],
  [/\bat all:/i, 'any, before the noun'],
  [/\bwhat there is\b/i, 'the thing, by its name'],
  [/\bat the (?:most|least)\b/i, 'at most, at least'],
  [/\bin vain\b/i, 'without success'],
  [/\ball the same\b/i, 'nevertheless, although'],
  [/\banew\b/i, 'again'],
  [/\bas one likes\b/i, 'often'],
  [/\bstands? here\b/i, 'appears here'],
  [/\bhas not the\b/i, 'lacks the'],
  [/\ban own\b/i, 'its own'],
  [/\blet (?:\S+ ){1,3}go on\b/i, 'resume, continue'],
  [/\bis to be\b/i, 'must be, should be'],
  [/\bwaits? for its\b/i, 'is unsettled; is held back until'],
  [/\bput right\b/i, 'fixed, corrected'],
  [/\bcan not\b(?! only)/i, 'cannot'],
  [/\bdear(?:er|est)\b/i, 'more expensive, most expensive'],
  [/\bwhether [^.]{1,60} or not\b/i, 'whether'],
]

/** Words of the page, the command line and messages that have another word now: the glossary has it. */
const RETIRED_WORDS: readonly AvoidedPhrase[] = [
  [/\bbacked credit\b/i, 'paid credit'],
  [/\btak(?:e|en|ing) (?:credit )?back\b/i, 'removed, remove'],
  [/\bto settle$|^To settle\b/, 'unsettled'],
  [/\bwhat operators did\b/i, 'audit log'],
  [/\bneeds? a look\b/i, 'needs attention'],
  [/\brequests? (?:is |are )?under way\b/i, 'running requests'],
  [/\b(?:good|in|up) no more\b/i, 'no longer'],
  [/\bshows? up\b/i, 'appears'],
  [/\be-mail/i, 'email'],
  [/\bany more\b(?! than)/i, 'no longer'],
  [/\bwhat (?:\S+ ){0,4}requests? (?:\S+ ){0,4}(?:came|comes?) to\b/i, 'the usage, the sums'],
  [/\bof its own\b/i, 'its own, one each'],
  [/\bexternal ids?\b/, 'external ID'],
  [/\bCharged (?:by|before|a year)\b/, 'Spend'],
  [/\b(?:most|least) charged\b/i, 'highest spend, lowest spend'],
]

/** Labels of one word that have another word now. */
const RETIRED_LABELS: ReadonlyMap<string, string> = new Map([
  ['Charged', 'Charge of one request, Spend of several'],
  ['Taken', 'Duration'],
])

/**
 * Documents and the texts of server and page (messages, help, descriptions) avoid constructions that readers
 * stumble over. Names, and comments beyond their first word, are not checked.
 */
export const checkPlainEnglish = fileRule(
  () => true,
  (file) =>
    textsOf(file).flatMap(({ text, line }) =>
      phrasesFor(file).flatMap(([phrase, say]): Fault[] => {
        const [found] = phrase.exec(text) ?? []
        return found === undefined ? [] : [[line, `"${found}": say ${say}`]]
      }),
    ),
)

/** Labels of the page have the words of the glossary. */
export const checkLabels = fileRule(isPageCode, (file) => {
  const { program, lineAt } = file.syntax()
  return nodesOf(program).flatMap((node): Fault[] => {
    // The beginning of a longer text is no label.
    const label = node.type === 'TemplateElement' ? '' : textOf(node).trim()
    const say = RETIRED_LABELS.get(label)
    return say === undefined ? [] : [[lineAt(node.start), `"${label}": say ${say}`]]
  })
})

const WITHOUT_NOUN = /^\*[\s*]*(What|Who|Whose|Whoever|Whatever|Those|Of)\b/

/** A doc comment begins with a verb or with the noun that it describes. */
export const checkCommentBeginnings = fileRule(isCode, (file) => {
  const { comments, lineAt } = file.syntax()
  return comments.flatMap(({ value, start }): Fault[] => {
    const [, word] = WITHOUT_NOUN.exec(value) ?? []
    const say = `the comment begins with "${word}": begin with the noun that it describes, or with a verb`
    return word === undefined ? [] : [[lineAt(start), say]]
  })
})

// The words of their time stay in past releases and decisions.
const HISTORY = /^(?:CHANGELOG\.md|docs\/decisions\/|docs\/performance\.md)/

function phrasesFor({ path }: SourceFile): readonly AvoidedPhrase[] {
  return HISTORY.test(path) ? AVOIDED_PHRASES : [...AVOIDED_PHRASES, ...RETIRED_WORDS]
}

function isPageCode({ path }: SourceFile): boolean {
  return /^web\/.*\.tsx?$/.test(path) && !path.includes('.test.')
}

function textsOf(file: SourceFile): readonly ProseLine[] {
  // Text in backticks is code.
  if (file.path.endsWith('.md')) {
    const { prose } = readMarkdown(file.text)
    return prose.map(({ text, line }) => ({ text: text.replace(/`[^`]*`/g, ''), line }))
  }
  if (!(isServerCode(file) || isPageCode(file)) || file.path === WORD_LIST) return []
  const { program, lineAt } = file.syntax()
  return nodesOf(program).flatMap((node) => {
    const text = textOf(node)
    // One word alone is a name.
    return text.trim().includes(' ') ? [{ text, line: lineAt(node.start) }] : []
  })
}

function textOf(node: Node): string {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'TemplateElement') return node.value.raw
  return node.type === 'JSXText' ? node.value.replace(/\s+/g, ' ') : ''
}
