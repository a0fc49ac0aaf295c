import type { CallExpression, Node } from 'oxc-parser'
import { isCode, isTest, nodeRule } from './source-tree.ts'
import { nameOf } from './syntax.ts'

const RUNNERS = new Set(['bench', 'describe', 'it', 'suite', 'test'])
const LEFT_OUT = new Set(['fails', 'only', 'runIf', 'skip', 'skipIf', 'todo'])
const MOCKS = new Set(['doMock', 'hoisted', 'importActual', 'importMock', 'mock'])
const SLEEPS = new Set(['setInterval', 'setTimeout'])
const TIMED = new Set([...RUNNERS, 'afterAll', 'afterEach', 'beforeAll', 'beforeEach'])
const BOUNDED_WAITS = new Set(['setConfig', 'waitFor', 'waitUntil'])
// The only time-outs of tests, which no busy machine meets.
const LIMITS = 'test/hang-limits.ts'
const TIME_OUT = 'a busy machine meets this time-out: HANG_LIMITS bounds every test already'

/**
 * Tests run whole, on real parts, and wait for what happens: not for time to pass, nor until their own
 * time-out, which a machine with other work meets.
 */
export const checkTestHygiene = nodeRule(
  (file) => isCode(file) && isTest(file) && file.path !== LIMITS,
  () => (node, parents) => {
    if ('source' in node && node.source?.type === 'Literal') {
      const specifier = String(node.source.value)
      const isTimers = /^(?:node:)?timers(?:\/promises)?$/.test(specifier)
      return isTimers ? `imports ${specifier}: await the event itself` : null
    }
    if (node.type !== 'CallExpression') return objectionToSelection(node, parents)
    const { callee } = node
    const [called, object] =
      callee.type === 'MemberExpression' ? [callee.property, nameOf(callee.object)] : [callee, null]
    const call: Call = { name: nameOf(called) ?? '', object, node }
    return objectionToCall(call) ?? (isBounded(call) ? TIME_OUT : null)
  },
)

interface Call {
  readonly name: string
  /** The name in `object.name()`; null if there is none. */
  readonly object: string | null
  readonly node: CallExpression
}

function objectionToCall({ name, object }: Call): string | null {
  if (object === 'vi' && MOCKS.has(name)) return `vi.${name}: use the real part, or the simulator`
  if (SLEEPS.has(name) && (object === null || object === 'globalThis')) {
    return `${name} waits for time: await the event itself`
  }
  if (name === 'toBeCloseTo') return 'toBeCloseTo tolerates a difference: compare exactly'
  // context.skip() inside of a test
  return name === 'skip' && object !== null && !RUNNERS.has(object)
    ? 'skip(): a test that cannot run fails'
    : null
}

/** test('…', …, 5_000), expect.poll(…, { timeout: 5_000 }), vi.waitFor(…), AbortSignal.timeout(5_000). */
function isBounded({ name, object, node }: Call): boolean {
  if (object === 'AbortSignal' && name === 'timeout') return true
  if (object === 'vi' && BOUNDED_WAITS.has(name)) return true
  const isTimed = TIMED.has(rootOf(node.callee))
  if (!isTimed && name !== 'poll') return false
  const given = node.arguments
  const isOption = given.some(
    (argument) =>
      argument.type === 'ObjectExpression' &&
      argument.properties.some((each) => 'key' in each && nameOf(each.key) === 'timeout'),
  )
  const last = given.at(-1)
  return isOption || (isTimed && last !== undefined && !isFunction(last) && given.some(isFunction))
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
  if (node.type !== 'MemberExpression' || !RUNNERS.has(rootOf(node.object))) return null
  const name = nameOf(node.property) ?? ''
  return LEFT_OUT.has(name) ? `.${name} leaves tests out` : null
}
