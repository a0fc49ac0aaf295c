import { posix } from 'node:path'
import type { Node } from 'oxc-parser'
import type { SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

/** One place where a file names another file or a package. */
export interface Import {
  /** The specifier as written: `../ledger/ledger.ts`, `node:fs`, `undici`. */
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
    const { source, kind } = readImport(node) ?? {}
    if (source?.type !== 'Literal' || typeof source.value !== 'string' || kind === undefined) return
    const specifier = source.value
    const path = specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : null
    imports.push({ specifier, kind, path, line: lineAt(node.start) })
  })
  return imports
}

function readImport(
  node: Node,
): { readonly source: Node | null | undefined; readonly kind: Import['kind'] } | null {
  switch (node.type) {
    case 'ImportDeclaration':
      return { source: node.source, kind: erased(node.importKind) }
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return { source: node.source, kind: erased(node.exportKind) }
    case 'ImportExpression':
      return { source: node.source, kind: 'lazy' }
    case 'TSImportType':
      return { source: node.source, kind: 'type' }
    case 'NewExpression':
      // new URL('./writer.ts', import.meta.url): how a worker's file is named.
      return nameOf(node.callee) === 'URL' && node.arguments.length === 2
        ? { source: node.arguments[0], kind: 'url' }
        : null
    default:
      return null
  }
}

function erased(kind: 'type' | 'value' | undefined): 'static' | 'type' {
  return kind === 'type' ? 'type' : 'static'
}
