import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Node } from 'oxc-parser'
import { parseSyntax, type Syntax, walk } from './syntax.ts'

/** A text file of the tree that the rules look at. */
export interface SourceFile {
  /** Path below the root of the tree, with forward slashes. */
  readonly path: string
  readonly text: string
  /** The syntax tree, parsed at the first call; throws for a file that does not parse. */
  syntax(): Syntax
}

// Installed, built or written at run time: not sources.
const SKIPPED_FOLDERS = new Set(['node_modules', '.git', 'data', 'coverage', 'dist', 'build'])

const TEXT_FILE = /\.(?:ts|tsx|js|md)$|^package\.json$|^\.ci\/run$/
const CODE_FILE = /\.(?:ts|tsx|js)$/

/** Reads every text file below a folder that a rule looks at, in path order. */
export async function readSourceTree(root: string): Promise<SourceFile[]> {
  const paths: string[] = []
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) folders.push(path)
      } else if (TEXT_FILE.test(path)) paths.push(path)
    }
  }
  paths.sort()
  return Promise.all(
    paths.map(async (path) => sourceFile(path, await readFile(join(root, path), 'utf8'))),
  )
}

/** Whether a file is TypeScript or JavaScript. */
export function isCode({ path }: SourceFile): boolean {
  return CODE_FILE.test(path)
}

/** Whether a file is a test, or supports only tests: the content of `test/` and `testing/` folders. */
export function isTest({ path }: Pick<SourceFile, 'path'>): boolean {
  return path.endsWith('.test.ts') || /(?:^|\/)test(?:ing)?\//.test(path)
}

/** Whether a file is part of the server: below `src/` and no test. */
export function isServerCode(file: SourceFile): boolean {
  return isCode(file) && file.path.startsWith('src/') && !isTest(file)
}

/** How many lines a file has. */
export function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1
}

function sourceFile(path: string, text: string): SourceFile {
  let syntax: Syntax | null = null
  return {
    path,
    text,
    syntax() {
      syntax ??= parseSyntax(path, text)
      return syntax
    },
  }
}

/** One place that breaks a rule of the house. */
export interface Violation {
  /** Path below the root of the tree, with forward slashes. */
  readonly path: string
  /** Counted from 1; null where the file as a whole is at fault. */
  readonly line: number | null
  /** The fault, and its remedy. */
  readonly message: string
}

/** The violation as an editor's terminal makes it a link: `path:line message`. */
export function describeViolation({ path, line, message }: Violation): string {
  return `${path}${line === null ? '' : `:${line}`} ${message}`
}

/** A check of a whole tree. */
export type Rule = (files: readonly SourceFile[]) => Violation[]

/** A fault of a file: its line, null for the file as a whole, and its message. */
export type Fault = readonly [line: number | null, message: string]

/** By position: the files that the rule looks at, and the faults that it finds in one of them. */
export function fileRule(
  looksAt: (file: SourceFile) => boolean,
  faultsOf: (file: SourceFile) => Iterable<Fault>,
): Rule {
  return (files) =>
    files
      .filter(looksAt)
      .flatMap((file) =>
        [...faultsOf(file)].map(([line, message]) => ({ path: file.path, line, message })),
      )
}

/** By position: the files that the rule looks at, and how it judges each node of one of them; null: no objection. */
export function nodeRule(
  looksAt: (file: SourceFile) => boolean,
  judgeOf: (file: SourceFile) => (node: Node, parents: readonly Node[]) => string | null,
): Rule {
  return fileRule(looksAt, (file) => {
    const { program, lineAt } = file.syntax()
    const judge = judgeOf(file)
    const faults: Fault[] = []
    walk(program, (node, parents) => {
      const message = judge(node, parents)
      if (message !== null) faults.push([lineAt(node.start), message])
    })
    return faults
  })
}
