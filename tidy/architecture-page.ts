import { readMarkdown } from './markdown.ts'
import type { SourceFile, Violation } from './source-tree.ts'

const ARCHITECTURE = 'ARCHITECTURE.md'
const DECISIONS = 'docs/decisions/'
const INDEX = `${DECISIONS}README.md`
const DEPENDENCIES = `${DECISIONS}dependencies.md`

/** Pages that name files and folders in backticks, all of which exist. */
const PAGES_WITH_PATHS = /^(?:ARCHITECTURE|CONTRIBUTING)\.md$|^docs\//

/**
 * ARCHITECTURE.md shows the rooms that the rule of layers checks; docs/decisions/ explains each
 * dependency of package.json and has an index of its pages; paths that these pages name exist.
 */
export function checkArchitecturePage(
  files: readonly SourceFile[],
  rows: readonly (readonly string[])[],
): Violation[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const missing = [ARCHITECTURE, INDEX, DEPENDENCIES].filter((path) => !texts.has(path))
  if (missing.length > 0) {
    return missing.map((path) => ({ path, line: null, message: 'is missing' }))
  }
  return [
    ...checkRooms(texts.get(ARCHITECTURE) ?? '', rows),
    ...checkDependencies(texts.get(DEPENDENCIES) ?? '', texts.get('package.json') ?? '{}'),
    ...checkIndex(texts),
    ...files.filter(({ path }) => PAGES_WITH_PATHS.test(path)).flatMap(checkPaths(files)),
  ]
}

function checkRooms(text: string, rows: readonly (readonly string[])[]): Violation[] {
  const shown = rowsOf(text, '## Rooms').map(([, places = '']) => namesIn(places).join(' '))
  const checked = rows.map((places) => places.join(' '))
  if (shown.join('\n') === checked.join('\n')) return []
  const message = `shows the rooms ${shown.join(' | ')}; the rule has ${checked.join(' | ')}`
  return [{ path: ARCHITECTURE, line: null, message }]
}

function checkDependencies(text: string, manifest: string): Violation[] {
  const installed = Object.entries<object>(JSON.parse(manifest))
    .filter(([field]) => /^(?:dev|optional)?dependencies$/i.test(field))
    .flatMap(([, versions]) => Object.keys(versions))
  const explained = rowsOf(text, '# Dependencies').flatMap(([name = '']) => namesIn(name))
  const unexplained = installed.filter((name) => !explained.includes(name))
  const unknown = explained.filter((name) => !installed.includes(name))
  const messages = [
    ...unexplained.map((name) => `does not explain ${name}`),
    ...unknown.map((name) => `explains ${name}, which is not installed`),
  ]
  return messages.map((message) => ({ path: DEPENDENCIES, line: null, message }))
}

function checkIndex(texts: ReadonlyMap<string, string>): Violation[] {
  const index = texts.get(INDEX) ?? ''
  return [...texts.keys()]
    .filter((path) => path.startsWith(DECISIONS) && path !== INDEX)
    .map((path) => path.slice(DECISIONS.length))
    .filter((name) => !index.includes(`](${name})`))
    .map((name) => ({ path: INDEX, line: null, message: `does not list ${name}` }))
}

/** A path in backticks: `src/formats/chat.ts`, `test/contract/`. Placeholders do not match. */
const NAMED_PATH = /`((?:src|test|tidy|simulator|docs)\/[\w./-]*(?:\/|\.(?:ts|md)))`/g

function checkPaths(files: readonly SourceFile[]): (page: SourceFile) => Violation[] {
  const paths = files.map(({ path }) => path)
  const exists = (named: string) =>
    paths.some((path) => path === named || path.startsWith(`${named.replace(/\/$/, '')}/`))
  return ({ path, text }) =>
    readMarkdown(text).prose.flatMap((prose) =>
      [...prose.text.matchAll(NAMED_PATH)]
        .map(([, named = '']) => named)
        .filter((named) => !exists(named))
        .map((named) => `names ${named}, which does not exist`)
        .map((message) => ({ path, line: prose.line, message })),
    )
}

/** The cells of the body rows of the tables below a heading, up to the next of its level. */
function rowsOf(text: string, heading: string): string[][] {
  const rows: string[][] = []
  let inside = false
  for (const line of readMarkdown(text).prose) {
    if (/^##? /.test(line.text)) inside = line.text === heading
    if (!inside || !line.text.startsWith('|')) continue
    rows.push(line.text.split('|').slice(1, -1))
  }
  // The head, and the line below it.
  return rows.slice(2)
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}
