import { importsOf } from './imports.ts'
import { isCode, isServerCode, isTest, type SourceFile, type Violation } from './source-tree.ts'
import { walk } from './syntax.ts'

/** How files hang together, and how long their functions are. */
export interface HouseShape {
  readonly filesOver400Lines: number
  /** Paths of `src/` that one other file of `src/` imports. */
  readonly oneImporter: readonly string[]
  /** The files among them with fewer than 60 lines. */
  readonly shortOneImporter: readonly string[]
  /** Groups of files of `src/` that import each other when they run. */
  readonly cycles: readonly (readonly string[])[]
  /** The same where imports of types count. */
  readonly cyclesWithTypes: readonly (readonly string[])[]
  readonly longestFunction: { readonly server: number; readonly page: number }
  /** Paths of the page's API that `web/` writes by hand. */
  readonly pathsOfThePage: number
  /** Lines of code by place: `web`, `simulator`, `bench`, `tidy`, `tests in src`, `tests in test`. */
  readonly linesBeside: Readonly<Record<string, number>>
  /** Files that hand on one limit of accounts, `tokens_per_minute`. */
  readonly filesOfASetting: readonly string[]
  /** Files of the ledger that know one kind of row, `purchases`. */
  readonly filesOfARow: readonly string[]
}

/** Measures the shape of a whole tree. */
export function measureShape(tree: readonly SourceFile[]): HouseShape {
  const server = tree.filter(isServerCode)
  const page = tree.filter((file) => isCode(file) && !isTest(file) && file.path.startsWith('web/'))
  const importers = importersOf(server)
  const oneImporter = server.filter(({ path }) => importers.get(path)?.size === 1)
  return {
    filesOver400Lines: server.filter((file) => linesOf(file) > 400).length,
    oneImporter: oneImporter.map(({ path }) => path),
    shortOneImporter: oneImporter.filter((file) => linesOf(file) < 60).map(({ path }) => path),
    cycles: cyclesOf(server, { withTypes: false }),
    cyclesWithTypes: cyclesOf(server, { withTypes: true }),
    longestFunction: { server: longestFunction(server), page: longestFunction(page) },
    pathsOfThePage: page.reduce((sum, file) => sum + handWrittenPaths(file), 0),
    linesBeside: linesBeside(tree),
    filesOfASetting: pathsWith(server, /tokens_?per_?minute/i),
    filesOfARow: pathsWith(server, /purchase/i).filter((path) => path.startsWith('src/ledger/')),
  }
}

/** No files of `src/` import each other, by their types neither: each can be read before those that import it. */
export function checkCycles(tree: readonly SourceFile[]): Violation[] {
  return cyclesOf(tree.filter(isServerCode), { withTypes: true }).map(([path = '', ...others]) => ({
    path,
    line: null,
    message: `imports ${others.join(', ')} and is imported by them: move what both need into one of them`,
  }))
}

function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1
}

function pathsWith(files: readonly SourceFile[], words: RegExp): string[] {
  return files.filter(({ text }) => words.test(text)).map(({ path }) => path)
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
    const place = isTest(file)
      ? folder === 'src' || folder === 'test'
        ? `tests in ${folder}`
        : null
      : ['web', 'simulator', 'bench', 'tidy'].includes(folder)
        ? folder
        : null
    if (place !== null) lines[place] = (lines[place] ?? 0) + linesOf(file)
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

/** Strongly connected groups of two or more files, largest first (Tarjan's algorithm). */
function cyclesOf(
  files: readonly SourceFile[],
  { withTypes }: { readonly withTypes: boolean },
): string[][] {
  const known = new Set(files.map(({ path }) => path))
  const edges = new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .filter(({ kind }) => kind === 'static' || (withTypes && kind === 'type'))
        .flatMap(({ path }) => (path !== null && known.has(path) ? [path] : [])),
    ]),
  )
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const groups: string[][] = []
  const visit = (path: string): void => {
    order.set(path, order.size)
    low.set(path, order.size - 1)
    stack.push(path)
    for (const next of edges.get(path) ?? []) {
      if (!order.has(next)) visit(next)
      else if (!stack.includes(next)) continue
      low.set(path, Math.min(low.get(path) ?? 0, low.get(next) ?? 0))
    }
    if (low.get(path) !== order.get(path)) return
    const group = stack.splice(stack.indexOf(path))
    if (group.length > 1) groups.push(group.sort())
  }
  for (const { path } of files) if (!order.has(path)) visit(path)
  return groups.sort((one, other) => other.length - one.length)
}
