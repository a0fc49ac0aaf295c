import { importedNamesOf } from './imported-names.ts'
import { isServerCode, isTest, type SourceFile, type Violation } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

/** The figures of the house: `src/` without its tests. */
export interface HouseFigures {
  readonly files: number
  readonly lines: number
  readonly medianLines: number
  readonly exportsPer1000Lines: number
  /** `path name` of each export that no other file imports. */
  readonly exportsWithoutImporter: readonly string[]
  /** `path name` of each interface that is named once other than in its declaration. */
  readonly interfacesUsedOnce: readonly string[]
  /** `path:line path:line` of each run of six or more lines that stands twice. */
  readonly duplicates: readonly string[]
  readonly rooms: Readonly<Record<string, RoomSize>>
}

/** How large a room is. */
interface RoomSize {
  readonly files: number
  readonly lines: number
}

/** Measures `src/`; who imports what is read from the whole tree. */
export function measureHouse(tree: readonly SourceFile[]): HouseFigures {
  const files = tree.filter(isServerCode)
  const lengths = files.map(linesOf).sort((one, other) => one - other)
  const lines = lengths.reduce((sum, length) => sum + length, 0)
  const imported = importedNamesOf(tree)
  const exported = files.flatMap((file) =>
    exportsOf(file).map((name) => ({ path: file.path, name })),
  )
  return {
    files: files.length,
    lines,
    medianLines: lengths[Math.floor(lengths.length / 2)] ?? 0,
    exportsPer1000Lines: Math.round((exported.length * 1_000) / Math.max(lines, 1)),
    exportsWithoutImporter: exported
      .filter(({ path, name }) => !imported.has(`${path} ${name}`))
      .map(({ path, name }) => `${path} ${name}`),
    interfacesUsedOnce: interfacesUsedOnce(files, tree),
    duplicates: duplicatesIn(files),
    rooms: roomsOf(files),
  }
}

/** Finds exports that no other file imports, and runs of six lines that stand twice. */
export function checkHouse(tree: readonly SourceFile[]): Violation[] {
  const house = measureHouse(tree)
  const violations: Violation[] = []
  for (const place of house.exportsWithoutImporter) {
    const [path = '', name] = place.split(' ')
    violations.push({ path, line: null, message: `exports ${name}, which no other file imports` })
  }
  for (const place of house.duplicates) {
    const [one, path = ''] = place.split(' ')
    violations.push({ path, line: null, message: `has six lines or more that stand in ${one} too` })
  }
  return violations
}

function linesOf({ text }: SourceFile): number {
  return text.split('\n').length - 1
}

function roomsOf(files: readonly SourceFile[]): Record<string, RoomSize> {
  const rooms: Record<string, RoomSize> = {}
  for (const file of files) {
    const room = file.path.split('/')[1] ?? ''
    const { files: count, lines } = rooms[room] ?? { files: 0, lines: 0 }
    rooms[room] = { files: count + 1, lines: lines + linesOf(file) }
  }
  return rooms
}

/** Names that a file exports by a declaration or a list. */
function exportsOf(file: SourceFile): string[] {
  const names: string[] = []
  walk(file.syntax().program, (node) => {
    if (node.type !== 'ExportNamedDeclaration') return
    for (const { exported } of node.specifiers) names.push(nameOf(exported) ?? '')
    const { declaration } = node
    if (declaration === null) return
    if (declaration.type === 'VariableDeclaration') {
      for (const { id } of declaration.declarations) names.push(nameOf(id) ?? '')
    } else if ('id' in declaration) {
      names.push(nameOf(declaration.id) ?? '')
    }
  })
  return names.filter((name) => name !== '')
}

function interfacesUsedOnce(
  files: readonly SourceFile[],
  tree: readonly SourceFile[],
): readonly string[] {
  const uses = new Map<string, number>()
  for (const file of tree) {
    if (!file.path.endsWith('.ts') || isTest(file)) continue
    walk(file.syntax().program, (node) => {
      if (node.type !== 'TSTypeReference' && node.type !== 'TSInterfaceHeritage') return
      const name = nameOf(node.type === 'TSTypeReference' ? node.typeName : node.expression)
      if (name !== null) uses.set(name, (uses.get(name) ?? 0) + 1)
    })
  }
  return files.flatMap((file) => {
    const found: string[] = []
    walk(file.syntax().program, (node) => {
      if (node.type !== 'TSInterfaceDeclaration') return
      const name = nameOf(node.id)
      if (name !== null && (uses.get(name) ?? 0) <= 1) found.push(`${file.path} ${name}`)
    })
    return found
  })
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
