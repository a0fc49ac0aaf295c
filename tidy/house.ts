import { importsOf } from './imports.ts'
import {
  isCode,
  isServerCode,
  isTest,
  linesOf,
  type SourceFile,
  type Violation,
} from './source-tree.ts'
import { exportsOf, nameOf, nodesOf, walk } from './syntax.ts'

/** Measures a tree: `src/` without tests, but for figures that name another place. Faults that `npm run check` refuses don't count. */
export function measureHouse(tree: readonly SourceFile[]) {
  const files = tree.filter(isServerCode)
  const page = tree.filter((file) => isCode(file) && !isTest(file) && file.path.startsWith('web/'))
  const lengths = files.map(linesOf).sort((one, other) => one - other)
  const lines = lengths.reduce((sum, length) => sum + length, 0)
  const exports = files.reduce((sum, file) => sum + exportsOf(file.syntax().program).length, 0)
  const importers = importersOf(files)
  const oneImporter = files.filter(({ path }) => importers.get(path)?.size === 1)
  return {
    files: files.length,
    lines,
    medianLines: lengths[Math.floor(lengths.length / 2)] ?? 0,
    filesOver400Lines: pathsOf(files, (file) => linesOf(file) > 400),
    exportsPer1000Lines: Math.round((exports * 1_000) / Math.max(lines, 1)),
    /** `path name` of each interface that is named once other than in its declaration. */
    interfacesUsedOnce: interfacesUsedOnce(files, tree),
    /** Files that one other file of `src/` imports. */
    oneImporter: pathsOf(oneImporter),
    shortOneImporter: pathsOf(oneImporter, (file) => linesOf(file) < 60),
    /** Files that hand on one limit of accounts, `tokens_per_minute`. */
    filesOfASetting: pathsOf(files, ({ text }) => /tokens_?per_?minute/i.test(text)),
    /** Files of the ledger that know one kind of row, `purchases`. */
    filesOfARow: pathsOf(
      files,
      ({ path, text }) => path.startsWith('src/ledger/') && /purchase/i.test(text),
    ),
    /** Paths of the page's API that `web/` writes by hand. */
    pathsOfThePage: page.reduce((sum, file) => sum + handWrittenPaths(file), 0),
    /** Lines of code by place: `web`, `simulator`, `bench`, `tidy`, `tests in src`, `tests in test`. */
    linesBeside: linesBeside(tree),
    rooms: roomsOf(files),
  }
}

/** Finds runs of six lines of `src/` that occur twice. */
export function checkDuplicates(tree: readonly SourceFile[]): Violation[] {
  return duplicatesIn(tree.filter(isServerCode)).map((place) => {
    const [one, path = ''] = place.split(' ')
    return { path, line: null, message: `has six lines or more that stand in ${one} too` }
  })
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

function roomsOf(files: readonly SourceFile[]) {
  const rooms = Map.groupBy(files, ({ path }) => path.split('/')[1] ?? '')
  return Object.fromEntries(
    [...rooms].map(([room, ofRoom]) => {
      const lines = ofRoom.reduce((sum, file) => sum + linesOf(file), 0)
      return [room, { files: ofRoom.length, lines }]
    }),
  )
}

function interfacesUsedOnce(files: readonly SourceFile[], tree: readonly SourceFile[]): string[] {
  const uses = new Map<string, number>()
  for (const file of tree) {
    if (!file.path.endsWith('.ts') || isTest(file)) continue
    walk(file.syntax().program, (node) => {
      if (node.type !== 'TSTypeReference' && node.type !== 'TSInterfaceHeritage') return
      const name = nameOf(node.type === 'TSTypeReference' ? node.typeName : node.expression)
      if (name !== null) uses.set(name, (uses.get(name) ?? 0) + 1)
    })
  }
  return files.flatMap((file) =>
    nodesOf(file.syntax().program)
      .filter((node) => node.type === 'TSInterfaceDeclaration')
      .filter(({ id }) => (uses.get(id.name) ?? 0) <= 1)
      .map(({ id }) => `${file.path} ${id.name}`),
  )
}

const DUPLICATE_LINES_MIN = 6

/** Runs of lines that occur twice to the letter, without imports, comments and lone brackets. */
function duplicatesIn(files: readonly SourceFile[]): string[] {
  const seen = new Map<string, string>()
  const found: string[] = []
  for (const file of files) {
    const lines = tellingLines(file)
    let last = -DUPLICATE_LINES_MIN
    for (let at = 0; at + DUPLICATE_LINES_MIN <= lines.length; at++) {
      const run = lines.slice(at, at + DUPLICATE_LINES_MIN)
      const key = run.map(({ text }) => text).join('\n')
      const place = `${file.path}:${run[0]?.line}`
      const before = seen.get(key)
      if (before === undefined) seen.set(key, place)
      else if (at - last >= DUPLICATE_LINES_MIN) {
        found.push(`${before} ${place}`)
        last = at
      }
    }
  }
  return found
}

function tellingLines(file: SourceFile): { readonly text: string; readonly line: number }[] {
  const isImport = new Set<number>()
  const { program, lineAt } = file.syntax()
  for (const node of program.body) {
    if (node.type !== 'ImportDeclaration') continue
    for (let line = lineAt(node.start); line <= lineAt(node.end); line++) isImport.add(line)
  }
  return file.text
    .split('\n')
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(
      ({ text, line }) => !isImport.has(line) && /\w/.test(text) && !/^(?:\/\/|\/?\*)/.test(text),
    )
}
