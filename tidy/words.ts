import { type Declaration, declarationsOf, wordsOf } from './declarations.ts'
import { isServerCode, type SourceFile, type Violation } from './source-tree.ts'

/** A word that new names in `src/` avoid. */
interface AvoidedWord {
  readonly words: readonly string[]
  /** `alone` is the whole name, `part` any of its words, `verb` the first word of a function. */
  readonly as: 'alone' | 'part' | 'verb'
  readonly say: string
  /** Whether the one parameter of a function may have it: `findAccount(id)` says whose it is. */
  readonly loneParameter?: true
  /** Where the rule holds; absent: everywhere in `src/`. */
  readonly inside?: RegExp
  /** Where it does not. */
  readonly outside?: RegExp
}

// JSON calls them keys, and server-sent events call it data.
const JSON_READING = /^src\/json\//
const EVENT_READING = /^src\/(?:formats|upstreams|journey\/relay)\//
const MONEY = /^src\/(?:ledger|reconcile|journey(?!\/gate\/))\//
// Where the client's and the upstream's stand side by side.
const BETWEEN_TWO_HOPS = /^src\/journey\/relay\//
const COMMAND_TABLE = /^src\/(?:app|cli)\/|^src\/main\.ts$/

/** The house's words and what to say instead. `docs/glossary.md` has the words themselves. */
const AVOIDED_WORDS: readonly AvoidedWord[] = [
  { words: ['credit'], as: 'alone', say: 'backedCredit, freeCredit, balance or entry' },
  { words: ['token'], as: 'alone', say: 'inputTokens, sessionToken or apiKey' },
  {
    words: ['key'],
    as: 'alone',
    say: 'apiKey, idempotencyKey or memberName',
    outside: JSON_READING,
  },
  {
    words: ['id'],
    as: 'alone',
    say: 'whose id: requestId, accountId, holdId',
    loneParameter: true,
  },
  { words: ['rate'], as: 'alone', say: 'requestRate or price' },
  { words: ['status'], as: 'alone', say: 'httpStatus or holdState' },
  {
    words: ['request'],
    as: 'alone',
    say: 'clientRequest or upstreamRequest',
    inside: BETWEEN_TWO_HOPS,
  },
  {
    words: ['response'],
    as: 'alone',
    say: 'clientResponse or upstreamResponse',
    inside: BETWEEN_TWO_HOPS,
  },
  {
    words: ['session', 'context', 'opts'],
    as: 'alone',
    say: 'the fields that are needed, by name',
  },
  {
    words: ['config', 'options'],
    as: 'alone',
    say: 'the fields that are needed, by name',
    outside: COMMAND_TABLE,
  },
  { words: ['info', 'fn'], as: 'alone', say: 'what it is or does' },
  { words: ['data'], as: 'alone', say: 'what it is', outside: EVENT_READING },
  {
    words: ['ctx', 'obj', 'helper', 'helpers', 'util', 'utils', 'misc', 'manager'],
    as: 'part',
    say: 'what it is or does',
  },
  { words: ['backend'], as: 'part', say: 'upstream' },
  { words: ['handle', 'process', 'manage', 'do'], as: 'verb', say: 'the verb of the domain' },
  {
    words: ['reserve', 'capture', 'void'],
    as: 'verb',
    say: 'openHold, settle or release',
    inside: MONEY,
  },
  { words: ['proxy', 'transform'], as: 'part', say: 'relay', inside: BETWEEN_TWO_HOPS },
]

const CHOSEN = new Set<Declaration['kind']>(['variable', 'parameter', 'function', 'type'])

/**
 * One word, one meaning. Looks at the names that server code chooses for itself: variables,
 * parameters, functions and types; not at fields, which may be the wire's, nor at the parameter of a
 * one-line callback, nor at tests.
 */
export function checkWords(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isServerCode(file)) continue
    const rows = AVOIDED_WORDS.filter(
      ({ inside, outside }) => (inside?.test(file.path) ?? true) && !outside?.test(file.path),
    )
    for (const declaration of declarationsOf(file)) {
      if (!CHOSEN.has(declaration.kind)) continue
      const row = rows.find((candidate) => avoids(candidate, declaration))
      if (row === undefined) continue
      violations.push({
        path: file.path,
        line: declaration.line,
        message: `${declaration.name}: say ${row.say}`,
      })
    }
  }
  return violations
}

function avoids(row: AvoidedWord, { name, kind, value, lone }: Declaration): boolean {
  const { words, as, loneParameter } = row
  if (loneParameter && lone) return false
  const parts = wordsOf(name)
  switch (as) {
    case 'alone':
      return parts.length === 1 && words.includes(parts[0] ?? '')
    case 'part':
      return words.some((word) => parts.includes(word))
    case 'verb': {
      const isFunction =
        kind === 'function' ||
        value?.type === 'ArrowFunctionExpression' ||
        value?.type === 'FunctionExpression'
      return isFunction && words.includes(parts[0] ?? '')
    }
  }
}
