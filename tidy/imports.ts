import { posix } from 'node:path'
import type { Node } from 'oxc-parser'
import { isCode, type SourceFile } from './source-tree.ts'
import { nameOf, namesOf, walk } from './syntax.ts'

/** One place where a file names another file or a package. */
export interface Import {
  /** As written: `../ledger/ledger.ts`, `node:fs`, `undici`. */
  readonly specifier: string
  /** Path below the root of the tree; null for a package. */
  readonly path: string | null
  /** `type` is erased, `lazy` runs later, `url` is a worker's entry file. */
  readonly kind: 'static' | 'type' | 'lazy' | 'url'
  /** The exports that it takes by their names. */
  readonly names: readonly string[]
  readonly line: number
}

/** Everything that a file imports, re-exports, loads later or starts as a worker. */
export function importsOf(file: SourceFile): Import[] {
  const { program, lineAt } = file.syntax()
  const imports: Import[] = []
  walk(program, (node, parents) => {
    const { source, kind, names = [] } = readImport(node, parents) ?? {}
    if (source?.type !== 'Literal' || typeof source.value !== 'string' || kind === undefined) return
    const specifier = source.value
    const path = specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : null
    imports.push({ specifier, kind, path, names, line: lineAt(node.start) })
  })
  return imports
}

interface Found {
  readonly source: Node | null | undefined
  readonly kind: Import['kind']
  readonly names?: readonly string[]
}

function readImport(node: Node, parents: readonly Node[]): Found | null {
  switch (node.type) {
    case 'ImportDeclaration': {
      const names = node.specifiers.map((each) => ('imported' in each ? each.imported : null))
      return { source: node.source, kind: erased(node.importKind), names: namesOf(names) }
    }
    case 'ExportNamedDeclaration': {
      const names = namesOf(node.specifiers.map(({ local }) => local))
      return { source: node.source, kind: erased(node.exportKind), names }
    }
    case 'ExportAllDeclaration':
      return { source: node.source, kind: erased(node.exportKind) }
    case 'ImportExpression':
      return { source: node.source, kind: 'lazy', names: namesLoaded(parents) }
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

/** `(await import('…')).name` and `const { name } = await import('…')`. */
function namesLoaded(parents: readonly Node[]): string[] {
  const user = parents.findLast(({ type }) => !/^(?:Await|Parenthesized)Expression$/.test(type))
  if (user?.type === 'MemberExpression') return namesOf([user.property])
  if (user?.type !== 'VariableDeclarator' || user.id.type !== 'ObjectPattern') return []
  return namesOf(user.id.properties.map((each) => ('key' in each ? each.key : null)))
}

/** `path name` of every export that some other file imports, including tests and programs outside `src/`. */
export function importedNamesOf(tree: readonly SourceFile[]): ReadonlySet<string> {
  const imports = tree.filter(isCode).flatMap(importsOf)
  return new Set(imports.flatMap(({ path, names }) => names.map((name) => `${path} ${name}`)))
}
