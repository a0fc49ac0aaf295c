import { type Comment, type Node, type Program, parseSync, visitorKeys } from 'oxc-parser'

/** A parsed file. */
export interface Syntax {
  readonly program: Program
  readonly comments: readonly Comment[]
  /** The line, counted from 1, of a character offset. */
  lineAt(offset: number): number
}

/** Parses TypeScript or JavaScript; throws SyntaxError for anything else. */
export function parseSyntax(path: string, text: string): Syntax {
  const { program, comments, errors } = parseSync(path, text)
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`)
  const lineStarts = [0, ...text.matchAll(/\n/g).map(({ index }) => index + 1)]
  return {
    program,
    comments,
    lineAt: (offset) => lineStarts.findLastIndex((start) => start <= offset) + 1,
  }
}

/** Calls `visit` for a node and everything below it, parents first; `parents` is outermost first. */
export function walk(root: Node, visit: (node: Node, parents: readonly Node[]) => void): void {
  const parents: Node[] = []
  const enter = (node: Node) => {
    visit(node, parents)
    parents.push(node)
    for (const child of childrenOf(node)) enter(child)
    parents.pop()
  }
  enter(root)
}

/** Every node below a node, itself included, parents first. */
export function nodesOf(root: Node): Node[] {
  const nodes: Node[] = []
  walk(root, (node) => {
    nodes.push(node)
  })
  return nodes
}

/** The name of an identifier or of a property written as one; null for anything else. */
export function nameOf(node: Node | null | undefined): string | null {
  if (node === null || node === undefined) return null
  return node.type === 'Identifier' || node.type === 'PrivateIdentifier' ? node.name : null
}

/** The names among these nodes. */
function namesOf(nodes: readonly (Node | null | undefined)[]): string[] {
  return nodes.map(nameOf).filter((name) => name !== null)
}

/** A name that a file exports. */
interface Exported {
  readonly name: string
  /** The statement that declares it; null for a re-export. */
  readonly statement: Node | null
}

/** Everything that a file exports by its name, and its default as `default`. */
export function exportsOf({ body }: Program): Exported[] {
  return body.flatMap((statement): Exported[] => {
    if (statement.type === 'ExportDefaultDeclaration') return [{ name: 'default', statement }]
    if (statement.type !== 'ExportNamedDeclaration') return []
    if (statement.declaration !== null)
      return declaredNames(statement.declaration).map((name) => ({ name, statement }))
    return statement.specifiers.map(({ local, exported }) => {
      const isOf = (other: Node) => declaredNames(other).includes(nameOf(local) ?? '')
      return { name: nameOf(exported) ?? '', statement: body.find(isOf) ?? null }
    })
  })
}

function declaredNames(statement: Node): string[] {
  if (statement.type === 'VariableDeclaration')
    return namesOf(statement.declarations.map(({ id }) => id))
  return 'id' in statement ? namesOf([statement.id]) : []
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = []
  for (const [property, value] of Object.entries(node)) {
    if (!visitorKeys[node.type]?.includes(property)) continue
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) children.push(child)
  }
  return children
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}
