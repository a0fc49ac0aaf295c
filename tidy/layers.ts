import { type Import, importsOf } from './imports.ts'
import { isCode, isTest, type SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

/** The folders of `src/`, lowest row first. A row knows the rows below it and nothing else. */
export const ROWS: readonly (readonly string[])[] = [
  ['vocabulary'],
  ['store'],
  ['identity', 'limits', 'catalog', 'wire', 'ledger', 'upstream'],
  ['pricing', 'relay', 'answers'],
  ['settle'],
  ['journey', 'reconcile'],
  ['http', 'cli'],
  ['telemetry'],
  ['workers'],
  [
    'version.ts',
    'setting.ts',
    'trace-settings.ts',
    'config.ts',
    'open-telemetry.ts',
    'show-gauges.ts',
    'wiring.ts',
    'open-http.ts',
    'open-books.ts',
    'open-upstream.ts',
    'open-serving.ts',
    'worker-start.ts',
    'open-workers.ts',
    'run-worker.ts',
    'worker.ts',
    'gateway.ts',
    'log.ts',
    'first-account.ts',
    'serve.ts',
    'start-failure.ts',
    'main.ts',
  ],
]

const STARTS_SIMULATOR = 'src/serve.ts'

// Pure functions that are Node's own; everything else is somebody's state or somebody's release.
const VOCABULARY_MAY_IMPORT = new Set(['node:buffer'])

/**
 * Imports go to strictly lower rows: never to a sibling, never upwards. Tests may also look at their
 * own row, at `simulator/` and at `test/`. The files of `src/` itself are the wiring: they know each
 * other, without a cycle (lint refuses those). The simulator is a program of its own and knows nothing
 * of `src/`; only serve.ts starts it, lazily.
 */
export function checkLayers(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file)) continue
    for (const imported of importsOf(file)) {
      const message = objection(file, imported)
      if (message !== null) violations.push({ path: file.path, line: imported.line, message })
    }
    if (file.path.startsWith('src/') && rowOf(file.path) === null) {
      violations.push({ path: file.path, line: null, message: 'is in no row of the layers table' })
    }
  }
  return violations
}

function objection(file: SourceFile, imported: Import): string | null {
  if (file.path.startsWith('simulator/')) return objectionInSimulator(file, imported)
  if (file.path.startsWith('src/')) return objectionInSrc(file, imported)
  return null
}

function objectionInSimulator(file: SourceFile, { path, specifier }: Import): string | null {
  if (path === null || path.startsWith('simulator/')) return null
  if (isTest(file) && path.startsWith('test/')) return null
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
  if (placeOf(file.path) === placeOf(path) || otherRow < ownRow) return null
  if (otherRow === ownRow) {
    return isTest(file) || isWiring(path)
      ? null
      : `imports ${specifier}: siblings of a row never know each other`
  }
  return `imports ${specifier}: imports go down, never up`
}

function objectionOutsideSrc(
  file: SourceFile,
  { path, specifier, kind }: Pick<Import, 'specifier' | 'kind'> & { readonly path: string },
): string | null {
  if (path.startsWith('simulator/')) {
    if (isTest(file)) return null
    if (file.path !== STARTS_SIMULATOR)
      return `imports ${specifier}: only serve.ts starts the simulator`
    return kind === 'static'
      ? `imports ${specifier} at once: serve.ts loads the simulator lazily`
      : null
  }
  if (path.startsWith('test/') && isTest(file)) return null
  return path === 'package.json' ? null : `imports ${specifier}: src/ stands alone`
}

/** The folder below `src/`, or the name of a file directly in it (a test counts as what it tests). */
function placeOf(path: string): string {
  const [, place = ''] = path.split('/')
  return place.replace(/\.test\.ts$/, '.ts')
}

/** Whether a file stands in `src/` itself. */
function isWiring(path: string): boolean {
  return path.split('/').length === 2
}

function rowOf(path: string): number | null {
  const row = ROWS.findIndex((places) => places.includes(placeOf(path)))
  return row === -1 ? null : row
}
