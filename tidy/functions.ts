import type { ArrowFunctionExpression, Function as FunctionNode, Node } from 'oxc-parser'
import { nameOf, walk } from './syntax.ts'

/** A function, method or arrow function with a body. */
export interface FunctionFound {
  readonly node: FunctionNode | ArrowFunctionExpression
  /** What it is declared, assigned or keyed as; null where it has no name. */
  readonly name: string | null
  /** Outermost first. */
  readonly parents: readonly Node[]
}

/** Every function of a program. */
export function functionsOf(program: Node): FunctionFound[] {
  const functions: FunctionFound[] = []
  walk(program, (node, parents) => {
    if (
      node.type === 'FunctionDeclaration' ||
      node.type === 'FunctionExpression' ||
      node.type === 'ArrowFunctionExpression'
    ) {
      functions.push({ node, name: functionName(node, parents.at(-1)), parents: [...parents] })
    }
  })
  return functions
}

function functionName(node: FunctionFound['node'], parent: Node | undefined): string | null {
  if (node.id !== null) return nameOf(node.id)
  switch (parent?.type) {
    case 'VariableDeclarator':
      return nameOf(parent.id)
    case 'MethodDefinition':
    case 'Property':
    case 'PropertyDefinition':
      return nameOf(parent.key)
    default:
      return null
  }
}
