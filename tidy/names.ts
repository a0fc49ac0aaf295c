import { type Declaration, declarationsOf, wordsOf } from './declarations.ts'
import { type Fault, fileRule, isCode, isServerCode } from './source-tree.ts'

/** Words that new names in `src/` avoid. */
interface AvoidedWords {
  readonly words: string
  /** `alone` is the whole name, `part` any of its words, `verb` the first word of a function. */
  readonly as: 'alone' | 'part' | 'verb'
  readonly say: string
  /** The files that the rule holds for; absent: all of `src/`. */
  readonly inside?: RegExp
  /** The files that it does not hold for. */
  readonly outside?: RegExp
}

// JSON calls them keys, and server-sent events call it data.
const JSON_READING = /^src\/json\//
const EVENT_READING = /^src\/(?:formats|upstreams|journey\/relay)\//
const MONEY = /^src\/(?:ledger|reconcile|journey(?!\/gate\/))\//
// Files that have names of the client and of the upstream.
const TWO_HOPS = /^src\/journey\/relay\//
const COMMAND_TABLE = /^src\/(?:app|cli)\/|^src\/main\.ts$/

// The one parameter of a function may have it: `findAccount(id)` says whose it is.
const LONE_PARAMETER = 'id'
const FIELDS = 'the fields that are needed, by name'
const CONTENT = 'what it is or does'

/** Words that the house avoids, and the words to use instead. `docs/glossary.md` has the words themselves. */
const AVOIDED_WORDS: readonly AvoidedWords[] = [
  { as: 'alone', words: 'credit', say: 'backedCredit, freeCredit, balance or entry' },
  { as: 'alone', words: 'token', say: 'inputTokens, sessionToken or apiKey' },
  { as: 'alone', words: 'key', say: 'apiKey, idempotencyKey or memberName', outside: JSON_READING },
  { as: 'alone', words: 'id', say: 'whose id: requestId, accountId, holdId' },
  { as: 'alone', words: 'rate', say: 'requestRate or price' },
  { as: 'alone', words: 'status', say: 'httpStatus or holdState' },
  { as: 'alone', words: 'request', say: 'clientRequest or upstreamRequest', inside: TWO_HOPS },
  { as: 'alone', words: 'response', say: 'clientResponse or upstreamResponse', inside: TWO_HOPS },
  { as: 'alone', words: 'session context opts', say: FIELDS },
  { as: 'alone', words: 'config options', say: FIELDS, outside: COMMAND_TABLE },
  { as: 'alone', words: 'info fn', say: CONTENT },
  { as: 'alone', words: 'data', say: 'what it is', outside: EVENT_READING },
  { as: 'part', words: 'ctx obj helper helpers util utils misc manager', say: CONTENT },
  { as: 'part', words: 'backend', say: 'upstream' },
  { as: 'verb', words: 'handle process manage do', say: 'the verb of the domain' },
  { as: 'verb', words: 'reserve capture void', say: 'openHold, settle or release', inside: MONEY },
  { as: 'part', words: 'proxy transform', say: 'relay', inside: TWO_HOPS },
]

const CHOSEN = new Set<Declaration['kind']>(['variable', 'parameter', 'function', 'type'])

/**
 * One word, one meaning. Looks at the names that server code chooses for itself: variables,
 * parameters, functions and types; not at fields, which may be the wire's, nor at the parameter of a
 * one-line callback, nor at tests.
 */
export const checkWords = fileRule(isServerCode, (file) => {
  const rows = AVOIDED_WORDS.filter(
    ({ inside, outside }) => (inside?.test(file.path) ?? true) && !outside?.test(file.path),
  )
  return declarationsOf(file).flatMap((declaration): Fault[] => {
    const row = rows.find((candidate) => avoids(candidate, declaration))
    if (row === undefined || !CHOSEN.has(declaration.kind)) return []
    return [[declaration.line, `${declaration.name}: say ${row.say}`]]
  })
})

function avoids(row: AvoidedWords, { name, kind, value, lone }: Declaration): boolean {
  const words = row.words.split(' ')
  const [first = '', ...others] = wordsOf(name)
  switch (row.as) {
    case 'alone':
      return others.length === 0 && words.includes(first) && !(lone && first === LONE_PARAMETER)
    case 'part':
      return words.some((word) => word === first || others.includes(word))
    case 'verb': {
      const isFunction = kind === 'function' || /FunctionExpression$/.test(value?.type ?? '')
      return isFunction && words.includes(first)
    }
  }
}

// Names that do not describe the content of a file, so that anything ends up there.
const SAYS_NOTHING =
  /^(?:common|lib|shared|type|(?:.*[-.])?(?:helpers?|managers?|misc|services|types|utils?)|service)$/

/** Files and folders are nouns and verbs of the domain; a test is named for its guarantee. */
export const checkFileNames = fileRule(isCode, ({ path }) =>
  path.split('/').flatMap((segment): Fault[] => {
    const stem = segment.replace(/(?:\.test)?\.(?:ts|tsx|js)$/, '')
    if (SAYS_NOTHING.test(stem))
      return [[null, `"${stem}" says nothing: name the file for what is inside`]]
    if (!/^issue-|\.\d+$/.test(stem)) return []
    return [[null, `"${stem}" is a number: name the file for the behaviour it holds`]]
  }),
)
