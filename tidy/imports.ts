import { posix } from 'node:path'
import type { Node } from 'oxc-parser'
import type { SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

/** One place where a file names another file or a package. */
export interface Import {
  /** As written: `../ledger/ledger.ts`, `node:fs`, `undici`. */
  readonly specifier: string
  /** Path below the root of the tree; null for a package. */
  readonly path: string | null
  /** `type` is erased, `lazy` runs later, `url` is a worker's entry file. */
  readonly kind: 'static' | 'type' | 'lazy' | 'url'
  readonly line: number
}

/** Everything that a file imports, re-exports, loads later or starts as a worker. */
export function importsOf(file: SourceFile): Import[] {
  const { program, lineAt } = file.syntax()
  const imports: Import[] = []
  walk(program, (node) => {
    const found = readImport(node)
    if (found === null) return
    const { specifier, kind } = found
    const path = specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : null
    imports.push({ specifier, kind, path, line: lineAt(node.start) })
  })
  return imports
}

function readImport(node: Node): Pick<Import, 'specifier' | 'kind'> | null {
  switch (node.type) {
    case 'ImportDeclaration':
      return {
        specifier: node.source.value,
        kind: node.importKind === 'type' ? 'type' : 'static',
      }
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      if (node.source === null) return null
      return {
        specifier: node.source.value,
        kind: node.exportKind === 'type' ? 'type' : 'static',
      }
    case 'ImportExpression':
      return literal(node.source, 'lazy')
    case 'TSImportType':
      return literal(node.source, 'type')
    case 'NewExpression':
      // new URL('./writer.ts', import.meta.url): how a worker's file is named.
      return nameOf(node.callee) === 'URL' && node.arguments.length === 2
        ? literal(node.arguments[0], 'url')
        : null
    default:
      return null
  }
}

function literal(
  node: Node | undefined,
  kind: Import['kind'],
): Pick<Import, 'specifier' | 'kind'> | null {
  if (node?.type !== 'Literal' || typeof node.value !== 'string') return null
  return { specifier: node.value, kind }
}
