import { dirname } from 'node:path'
import { type Import, importsOf } from './imports.ts'
import { type Fault, fileRule, isCode, isTest, type SourceFile } from './source-tree.ts'

/** The rooms of `src/`, lowest row first. A room knows itself and the rooms of lower rows. */
export const ROWS: readonly (readonly string[])[] = [
  ['vocabulary'],
  ['json', 'mail'],
  ['tokens'],
  ['store'],
  ['ledger'],
  ['formats'],
  ['upstreams'],
  ['catalog'],
  ['journey'],
  ['reconcile', 'usage', 'people', 'sale', 'webhooks', 'alerts'],
  ['operations'],
  ['http', 'cli'],
  ['telemetry'],
  ['app'],
  ['main.ts'],
]

/** The folders of `src/operations/`, lowest row first; its other files are below them all, and its list above. */
const FOLDERS_OF_OPERATIONS: readonly (readonly string[])[] = [
  ['usage'],
  ['credit', 'requests', 'people'],
  ['accounts', 'gateway'],
]
const LISTS_OPERATIONS = 'src/operations/operations.ts'

const STARTS_SIMULATOR = 'src/app/serve.ts'

// Node's own pure functions; every other import has state or changes with releases.
const VOCABULARY_MAY_IMPORT = new Set(['node:buffer'])

/**
 * A room imports itself and rooms of strictly lower rows: never a room of its own row, never upwards.
 * Tests may also import rooms of their own row, `simulator/` and `test/`. The simulator is a program
 * in itself and imports nothing of `src/`; only app/serve.ts starts it, lazily.
 */
export const checkLayers = fileRule(isCode, (file) => {
  const faults = importsOf(file).flatMap((imported): Fault[] => {
    const message = objection(file, imported)
    return message === null ? [] : [[imported.line, message]]
  })
  if (file.path.startsWith('src/') && rowOf(file.path) === null)
    faults.push([null, 'is in no row of the layers table'])
  return faults
})

function objection(file: SourceFile, imported: Import): string | null {
  if (file.path.startsWith('src/')) return objectionInSrc(file, imported)
  const { path, specifier } = imported
  if (!file.path.startsWith('simulator/') || path === null) return null
  if (path.startsWith('simulator/') || (isTest(file) && path.startsWith('test/'))) return null
  return `imports ${specifier}: the simulator is a program of its own`
}

function objectionInSrc(file: SourceFile, { path, specifier, kind }: Import): string | null {
  if (path === null) {
    return file.path.startsWith('src/vocabulary/') &&
      !isTest(file) &&
      !VOCABULARY_MAY_IMPORT.has(specifier)
      ? `imports ${specifier}: vocabulary imports nothing but itself`
      : null
  }
  if (!path.startsWith('src/')) return objectionOutsideSrc(file, { path, specifier, kind })
  if (isTest({ path }) && !isTest(file)) return `imports ${specifier}, which is for tests alone`
  const ownRow = rowOf(file.path)
  const otherRow = rowOf(path)
  if (ownRow === null || otherRow === null) return `imports ${specifier}, which is in no row`
  if (placeOf(file.path) === placeOf(path)) {
    return isTest(file) || mayImportWithin(file.path, path)
      ? null
      : `imports ${specifier}: folders of operations import lower ones alone`
  }
  if (otherRow < ownRow) return null
  if (otherRow === ownRow) {
    return isTest(file) ? null : `imports ${specifier}: rooms of one row never know each other`
  }
  return `imports ${specifier}: imports go down, never up`
}

function mayImportWithin(path: string, imported: string): boolean {
  const [own, other] = [folderRowOf(path), folderRowOf(imported)]
  if (path === LISTS_OPERATIONS || other < own) return true
  return other === own && (own === -1 || dirname(path) === dirname(imported))
}

/** The row of the folder of operations that a file is in; -1: in none. */
function folderRowOf(path: string): number {
  const [, room, folder = ''] = path.split('/')
  if (room !== 'operations') return -1
  return FOLDERS_OF_OPERATIONS.findIndex((folders) => folders.includes(folder))
}

function objectionOutsideSrc(
  file: SourceFile,
  { path, specifier, kind }: Pick<Import, 'specifier' | 'kind'> & { readonly path: string },
): string | null {
  if (path.startsWith('simulator/')) {
    if (isTest(file)) return null
    if (file.path !== STARTS_SIMULATOR)
      return `imports ${specifier}: only app/serve.ts starts the simulator`
    return kind === 'static'
      ? `imports ${specifier} at once: app/serve.ts loads the simulator lazily`
      : null
  }
  if (path.startsWith('test/') && isTest(file)) return null
  return path === 'package.json' ? null : `imports ${specifier}: src/ stands alone`
}

/**
 * The room: the folder below `src/`, or the name of a file directly in it (a test counts as the file that it tests).
 */
function placeOf(path: string): string {
  const [, place = ''] = path.split('/')
  return place.replace(/\.test\.ts$/, '.ts')
}

function rowOf(path: string): number | null {
  const row = ROWS.findIndex((places) => places.includes(placeOf(path)))
  return row === -1 ? null : row
}
