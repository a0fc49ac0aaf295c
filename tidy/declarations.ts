import type { Node, TSType } from 'oxc-parser'
import type { SourceFile } from './source-tree.ts'
import { nameOf, nodesOf } from './syntax.ts'

/** A name that a file gives to something. */
export interface Declaration {
  readonly name: string
  /**
   * `variable` and `parameter` are names of the file's own choice; `destructured` takes over the
   * name of somebody's field; a `member` of an interface, type or class may be a field on the wire;
   * an `inline` parameter lives in the one expression of its arrow function.
   */
  readonly kind:
    | 'variable'
    | 'parameter'
    | 'inline'
    | 'destructured'
    | 'function'
    | 'type'
    | 'member'
  /** The written type; null if there is none. */
  readonly type: TSType | null
  /** The value that its declaration sets; null if it sets none. */
  readonly value: Node | null
  /** Whether it is the only parameter of its function. */
  readonly lone: boolean
  readonly line: number
}

/** Every name that a file declares, in the order of the file. */
export function declarationsOf(file: SourceFile): Declaration[] {
  const { program, lineAt } = file.syntax()
  return nodesOf(program)
    .flatMap(readDeclarations)
    .flatMap(({ nameNode, ...rest }) => {
      const name = nameOf(nameNode)
      if (name === null || nameNode === null) return []
      return [{ ...rest, name, line: lineAt(nameNode.start) }]
    })
}

type Kind = Declaration['kind']

type Found = Omit<Declaration, 'name' | 'line'> & { readonly nameNode: Node | null }

function readDeclarations(node: Node): Found[] {
  switch (node.type) {
    case 'VariableDeclarator':
      return bindings({ pattern: node.id, kind: 'variable', value: node.init })
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return [named(node.id, 'function'), ...parametersOf(node.params)]
    case 'ArrowFunctionExpression':
      return parametersOf(node.params, node.expression ? 'inline' : 'parameter')
    case 'FunctionExpression':
    case 'TSFunctionType':
    case 'TSEmptyBodyFunctionExpression':
      return parametersOf(node.params)
    case 'TSMethodSignature':
      return [named(node.key, 'function'), ...parametersOf(node.params)]
    case 'MethodDefinition':
      return [named(node.key, 'function')]
    case 'PropertyDefinition':
    case 'TSPropertySignature': {
      const value = node.type === 'PropertyDefinition' ? node.value : null
      return [{ ...named(node.key, 'member'), type: typeOf(node), value }]
    }
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [named(node.id, 'type')]
    default:
      return []
  }
}

function parametersOf(parameters: readonly Node[], kind: Kind = 'parameter'): Found[] {
  return parameters
    .flatMap((pattern) => bindings({ pattern, kind, value: null }))
    .map((found) => ({ ...found, lone: parameters.length === 1 }))
}

function bindings(binding: {
  readonly pattern: Node
  readonly kind: Kind
  readonly value: Node | null
}): Found[] {
  const { pattern, kind, value } = binding
  switch (pattern.type) {
    case 'Identifier':
      return [{ nameNode: pattern, kind, type: typeOf(pattern), value, lone: false }]
    case 'AssignmentPattern':
      return bindings({ pattern: pattern.left, kind, value: pattern.right })
    case 'RestElement':
      return bindings({ pattern: pattern.argument, kind, value: null })
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) =>
        element === null ? [] : bindings({ pattern: element, kind, value: null }),
      )
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) => {
        if (property.type === 'RestElement')
          return bindings({ pattern: property, kind, value: null })
        const kept = property.shorthand ? 'destructured' : kind
        return bindings({ pattern: property.value, kind: kept, value: null })
      })
    default:
      return []
  }
}

function typeOf(node: Node): TSType | null {
  return 'typeAnnotation' in node && node.typeAnnotation?.type === 'TSTypeAnnotation'
    ? node.typeAnnotation.typeAnnotation
    : null
}

function named(nameNode: Node | null, kind: Kind): Found {
  return { nameNode, kind, type: null, value: null, lone: false }
}

/** The words of a name in camelCase, PascalCase or SNAKE_CASE, in lower case. */
export function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_$]+/)
    .filter((word) => word !== '')
}
