import { importsOf } from './imports.ts'
import {
  isCode,
  isServerCode,
  isTest,
  linesOf,
  type SourceFile,
  type Violation,
} from './source-tree.ts'
import { walk } from './syntax.ts'

/** How files hang together, and how long their functions are. */
export type HouseShape = ReturnType<typeof measureShape>

/** Measures the shape of a whole tree. Places are paths; a cycle is the paths of its files. */
export function measureShape(tree: readonly SourceFile[]) {
  const server = tree.filter(isServerCode)
  const page = tree.filter((file) => isCode(file) && !isTest(file) && file.path.startsWith('web/'))
  const importers = importersOf(server)
  const oneImporter = server.filter(({ path }) => importers.get(path)?.size === 1)
  return {
    filesOver400Lines: pathsOf(server, (file) => linesOf(file) > 400),
    /** Files of `src/` that one other file of `src/` imports. */
    oneImporter: pathsOf(oneImporter),
    shortOneImporter: pathsOf(oneImporter, (file) => linesOf(file) < 60),
    /** Groups of files of `src/` that import each other when they run. */
    cycles: cyclesOf(server, ['static']),
    /** Groups of files that import each other, imports of types included. */
    cyclesWithTypes: cyclesOf(server, ['static', 'type']),
    longestFunction: { server: longestFunction(server), page: longestFunction(page) },
    /** Paths of the page's API that `web/` writes by hand. */
    pathsOfThePage: page.reduce((sum, file) => sum + handWrittenPaths(file), 0),
    /** Lines of code by place: `web`, `simulator`, `bench`, `tidy`, `tests in src`, `tests in test`. */
    linesBeside: linesBeside(tree),
    /** Files that hand on one limit of accounts, `tokens_per_minute`. */
    filesOfASetting: pathsOf(server, ({ text }) => /tokens_?per_?minute/i.test(text)),
    /** Files of the ledger that know one kind of row, `purchases`. */
    filesOfARow: pathsOf(
      server,
      ({ path, text }) => path.startsWith('src/ledger/') && /purchase/i.test(text),
    ),
  }
}

/** No files of `src/` import each other, by their types neither: each can be read before those that import it. */
export function checkCycles(tree: readonly SourceFile[]): Violation[] {
  return cyclesOf(tree.filter(isServerCode), ['static', 'type']).map(([path = '', ...others]) => ({
    path,
    line: null,
    message: `imports ${others.join(', ')} and is imported by them: move what both need into one of them`,
  }))
}

function pathsOf(
  files: readonly SourceFile[],
  isWanted: (file: SourceFile) => boolean = () => true,
): string[] {
  return files.filter(isWanted).map(({ path }) => path)
}

// The functions of web/api/client.ts, which take a path. web/api/calls.ts calls them with the paths of the server.
function handWrittenPaths({ path, text }: SourceFile): number {
  if (path === 'web/api/calls.ts' || !text.includes('/client.ts')) return 0
  return [...text.matchAll(/(?<!function |\.)\b(?:read|write|openAnswer)[<(]/g)].length
}

function linesBeside(tree: readonly SourceFile[]): Record<string, number> {
  const lines: Record<string, number> = {}
  for (const file of tree.filter(isCode)) {
    const [folder = ''] = file.path.split('/')
    const place = isTest(file) ? `tests in ${folder}` : folder
    if (!/^(?:web|simulator|bench|tidy|tests in (?:src|test))$/.test(place)) continue
    lines[place] = (lines[place] ?? 0) + linesOf(file)
  }
  return lines
}

function importersOf(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>()
  for (const file of files) {
    for (const { path } of importsOf(file)) {
      if (path === null || path === file.path) continue
      const of = importers.get(path) ?? new Set()
      importers.set(path, of.add(file.path))
    }
  }
  return importers
}

function longestFunction(files: readonly SourceFile[]): number {
  let longest = 0
  for (const file of files) {
    const { program, lineAt } = file.syntax()
    walk(program, (node) => {
      if (!/^(?:Function|ArrowFunction)/.test(node.type) || !('body' in node)) return
      longest = Math.max(longest, lineAt(node.end) - lineAt(node.start) + 1)
    })
  }
  return longest
}

/** Groups of two or more files that reach each other by imports of these kinds, largest first. */
function cyclesOf(files: readonly SourceFile[], kinds: readonly string[]): string[][] {
  const paths = pathsOf(files)
  const reached = new Map<string, ReadonlySet<string>>()
  const edges = new Map(
    files.map((file) => [file.path, importsOf(file).filter(({ kind }) => kinds.includes(kind))]),
  )
  for (const start of paths) {
    const found = new Set<string>()
    const open = [start]
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      for (const { path: next } of edges.get(path) ?? []) {
        if (next === null || found.has(next)) continue
        found.add(next)
        open.push(next)
      }
    }
    reached.set(start, found)
  }
  const reaches = (from: string, to: string): boolean => reached.get(from)?.has(to) === true
  return paths
    .map((path) => paths.filter((other) => reaches(path, other) && reaches(other, path)))
    .filter((group, at) => group.length > 1 && group[0] === paths[at])
    .sort((one, other) => other.length - one.length)
}
