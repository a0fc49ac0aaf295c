import type { CallExpression, Node } from 'oxc-parser'
import { importsOf } from './imports.ts'
import { isCode, isTest, type SourceFile, type Violation } from './source-tree.ts'
import { nameOf, walk } from './syntax.ts'

const RUNNERS = new Set(['bench', 'describe', 'it', 'suite', 'test'])
const LEFT_OUT = new Set(['fails', 'only', 'runIf', 'skip', 'skipIf', 'todo'])
const MOCKS = new Set(['doMock', 'mock'])
const SLEEPS = new Set(['setInterval', 'setTimeout'])
const TIMED = new Set([...RUNNERS, 'afterAll', 'afterEach', 'beforeAll', 'beforeEach'])
const BOUNDED_WAITS = new Set(['setConfig', 'waitFor', 'waitUntil'])
const TIME_OUT = 'a busy machine meets this time-out: HANG_LIMITS bounds every test already'

/**
 * Tests run whole, on real parts, and wait for what happens: not for time to pass, nor until their own
 * time-out, which a machine with other work meets.
 */
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
        node.type === 'CallExpression'
          ? (objectionToCall(node) ?? objectionToTimeout(node))
          : objectionToSelection(node, parents)
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

/** test('…', …, 5_000), expect.poll(…, { timeout: 5_000 }), vi.waitFor(…), AbortSignal.timeout(5_000). */
function objectionToTimeout({ callee, arguments: given }: CallExpression): string | null {
  const name = nameOf(callee.type === 'MemberExpression' ? callee.property : callee) ?? ''
  const object = callee.type === 'MemberExpression' ? nameOf(callee.object) : null
  if (object === 'AbortSignal' && name === 'timeout') return TIME_OUT
  if (object === 'vi' && BOUNDED_WAITS.has(name)) return TIME_OUT
  const isTimed = TIMED.has(rootOf(callee))
  if (!isTimed && name !== 'poll') return null
  const isOptions = given.some(
    (argument) =>
      argument.type === 'ObjectExpression' &&
      argument.properties.some(
        (property) => property.type === 'Property' && nameOf(property.key) === 'timeout',
      ),
  )
  const last = given.at(-1)
  const isLast = last !== undefined && !isFunction(last) && given.some(isFunction)
  return isOptions || (isTimed && isLast) ? TIME_OUT : null
}

function isFunction({ type }: Node): boolean {
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression'
}

/** The name that a callee begins with: `test` of `test.each(…).concurrent`. */
function rootOf(callee: Node): string {
  if (callee.type === 'MemberExpression') return rootOf(callee.object)
  if (callee.type === 'CallExpression') return rootOf(callee.callee)
  return nameOf(callee) ?? ''
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
  return RUNNERS.has(rootOf(node.object)) ? `.${name} leaves tests out` : null
}
