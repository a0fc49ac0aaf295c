import type { CallExpression, Node } from 'oxc-parser'
import { importsOf } from './imports.ts'
import { isCode, isTest, type SourceFile } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'
import type { Violation } from './violation.ts'

const RUNNERS = new Set(['bench', 'describe', 'it', 'suite', 'test'])
const LEFT_OUT = new Set(['fails', 'only', 'runIf', 'skip', 'skipIf', 'todo'])
const MOCKS = new Set(['doMock', 'mock'])
const SLEEPS = new Set(['setInterval', 'setTimeout'])

/** Tests run whole, on real parts, and wait for what happens and not for time to pass. */
export function checkTestHygiene(files: readonly SourceFile[]): Violation[] {
  const violations: Violation[] = []
  for (const file of files) {
    if (!isCode(file) || !isTest(file)) continue
    const { program, lineAt } = file.syntax()
    for (const { specifier, line } of importsOf(file)) {
      if (!/^(?:node:)?timers(?:\/promises)?$/.test(specifier)) continue
      violations.push({
        path: file.path,
        line,
        message: `imports ${specifier}: await the event itself`,
      })
    }
    walk(program, (node, parents) => {
      const message =
        node.type === 'CallExpression' ? objectionToCall(node) : objectionToSelection(node, parents)
      if (message !== null) violations.push({ path: file.path, line: lineAt(node.start), message })
    })
  }
  return violations
}

function objectionToCall({ callee }: CallExpression): string | null {
  const name = nameOf(callee.type === 'MemberExpression' ? callee.property : callee) ?? ''
  const object = callee.type === 'MemberExpression' ? nameOf(callee.object) : null
  if (object === 'vi' && MOCKS.has(name)) return `vi.${name}: use the real part, or the simulator`
  if (SLEEPS.has(name) && (object === null || object === 'globalThis')) {
    return `${name} waits for time: await the event itself`
  }
  if (name === 'toBeCloseTo') return 'toBeCloseTo tolerates a difference: compare exactly'
  // context.skip() inside of a test
  if (name === 'skip' && object !== null && !RUNNERS.has(object)) {
    return 'skip(): a test that cannot run fails'
  }
  return null
}

/** test.only, describe.skip, test.each(…).only and the like. */
function objectionToSelection(node: Node, parents: readonly Node[]): string | null {
  if (node.type === 'Identifier') {
    return /^x(?:describe|it|test)$/.test(node.name) && parents.at(-1)?.type === 'CallExpression'
      ? `${node.name} leaves tests out`
      : null
  }
  if (node.type !== 'MemberExpression') return null
  const name = nameOf(node.property) ?? ''
  if (!LEFT_OUT.has(name)) return null
  let object: Node = node.object
  while (object.type === 'MemberExpression') object = object.object
  return RUNNERS.has(nameOf(object) ?? '') ? `.${name} leaves tests out` : null
}
