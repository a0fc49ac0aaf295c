import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

const ARCHITECTURE = 'ARCHITECTURE.md'

/**
 * ARCHITECTURE.md shows the layers that the rule of layers holds, and says of each dependency of
 * package.json, and of nothing else, what it is for.
 */
export function checkArchitecturePage(
  files: readonly SourceFile[],
  rows: readonly (readonly string[])[],
): Violation[] {
  const page = files.find(({ path }) => path === ARCHITECTURE)
  if (page === undefined) return [{ path: ARCHITECTURE, line: null, message: 'is missing' }]
  const violations: Violation[] = []
  const object = (message: string) => violations.push({ path: ARCHITECTURE, line: null, message })

  const shown = rowsOf(page.text, 'Layers').map(([, places = '']) => namesIn(places).join(' '))
  const held = rows.map((places) => places.join(' '))
  if (shown.join('\n') !== held.join('\n')) {
    object(`shows the layers ${shown.join(' | ')}; the rule holds ${held.join(' | ')}`)
  }

  const manifest = files.find(({ path }) => path === 'package.json')?.text ?? '{}'
  const installed = dependenciesOf(JSON.parse(manifest))
  const explained = rowsOf(page.text, 'Dependencies').flatMap(([name = '']) => namesIn(name))
  for (const name of installed) {
    if (!explained.includes(name)) object(`does not say what ${name} is for`)
  }
  for (const name of explained) {
    if (!installed.includes(name)) object(`says what ${name} is for, which is not installed`)
  }
  return violations
}

/** The cells of the body rows of the tables below a heading of the second level. */
function rowsOf(text: string, heading: string): string[][] {
  const rows: string[][] = []
  let inside = false
  for (const line of readMarkdown(text).prose) {
    if (line.text.startsWith('## ')) inside = line.text === `## ${heading}`
    if (!inside || !line.text.startsWith('|')) continue
    rows.push(line.text.split('|').slice(1, -1))
  }
  // The head, and the line below it.
  return rows.slice(2)
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

function dependenciesOf(manifest: unknown): string[] {
  if (typeof manifest !== 'object' || manifest === null) return []
  return Object.entries(manifest)
    .filter(([field]) => field === 'dependencies' || field === 'devDependencies')
    .flatMap(([, versions]) => Object.keys(versions ?? {}))
}
