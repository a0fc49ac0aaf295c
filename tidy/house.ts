import { importedNamesOf } from './imports.ts'
import { isServerCode, isTest, linesOf, type SourceFile, type Violation } from './source-tree.ts'
import { exportsOf, nameOf, nodesOf, walk } from './syntax.ts'

/** The figures of the house: `src/` without its tests. */
export type HouseFigures = ReturnType<typeof measureHouse>

/** Measures `src/`; who imports what is read from the whole tree. */
export function measureHouse(tree: readonly SourceFile[]) {
  const files = tree.filter(isServerCode)
  const lengths = files.map(linesOf).sort((one, other) => one - other)
  const lines = lengths.reduce((sum, length) => sum + length, 0)
  const imported = importedNamesOf(tree)
  const exported = files.flatMap((file) =>
    exportsOf(file.syntax().program)
      .filter(({ name }) => name !== 'default')
      .map(({ name }) => `${file.path} ${name}`),
  )
  return {
    files: files.length,
    lines,
    medianLines: lengths[Math.floor(lengths.length / 2)] ?? 0,
    exportsPer1000Lines: Math.round((exported.length * 1_000) / Math.max(lines, 1)),
    /** `path name` of each export that no other file imports. */
    exportsWithoutImporter: exported.filter((place) => !imported.has(place)),
    /** `path name` of each interface that is named once other than in its declaration. */
    interfacesUsedOnce: interfacesUsedOnce(files, tree),
    /** `path:line path:line` of each run of six or more lines that stands twice. */
    duplicates: duplicatesIn(files),
    rooms: roomsOf(files),
  }
}

/** Finds exports that no other file imports, and runs of six lines that stand twice. */
export function checkHouse(tree: readonly SourceFile[]): Violation[] {
  const house = measureHouse(tree)
  return [
    ...house.exportsWithoutImporter.map((place) => {
      const [path = '', name] = place.split(' ')
      return { path, line: null, message: `exports ${name}, which no other file imports` }
    }),
    ...house.duplicates.map((place) => {
      const [one, path = ''] = place.split(' ')
      return { path, line: null, message: `has six lines or more that stand in ${one} too` }
    }),
  ]
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

/** Runs of lines that stand twice to the letter, without imports, comments and lone brackets. */
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
