import type { Node } from 'oxc-parser'
import { type FunctionFound, functionsOf } from './functions.ts'
import { isCode, type SourceFile } from './source-tree.ts'
import { nameOf, nodesOf } from './syntax.ts'
import type { Violation } from './violation.ts'

const FILE_LINES_MAX = 400
const FUNCTION_LINES_MAX = 70

/** What may be longer than the limits for now: `path` or `path#function` to its lines. */
export type LengthBaseline = Readonly<Record<string, number>>

/**
 * No file above 400 lines, no function above 70. What the baseline names may stay as long as it was,
 * and the baseline must follow it down, so that nothing shrinks and grows again.
 */
export function checkLengths(files: readonly SourceFile[], baseline: LengthBaseline): Violation[] {
  const violations: Violation[] = []
  const excused = new Set<string>()
  const judge = (place: Place) => {
    const allowed = baseline[place.name]
    if (allowed !== undefined && place.lines > place.linesMax) excused.add(place.name)
    const message = objection(place, allowed)
    if (message !== null) violations.push({ path: place.path, line: place.line, message })
  }
  for (const file of files) {
    if (!isCode(file)) continue
    judge({
      path: file.path,
      name: file.path,
      line: null,
      lines: file.text.split('\n').length - 1,
      linesMax: FILE_LINES_MAX,
    })
    const { program, lineAt } = file.syntax()
    for (const found of functionsOf(program)) {
      if (groupsTests(found)) continue
      const line = lineAt(found.node.start)
      judge({
        path: file.path,
        name: `${file.path}#${found.name ?? 'anonymous'}`,
        line,
        lines: lineAt(found.node.end) - line + 1,
        linesMax: FUNCTION_LINES_MAX,
      })
    }
  }
  for (const name of Object.keys(baseline)) {
    if (excused.has(name)) continue
    violations.push({
      path: name,
      line: null,
      message: 'is within the limits: drop it from the baseline',
    })
  }
  return violations
}

interface Place {
  readonly path: string
  readonly name: string
  readonly line: number | null
  readonly lines: number
  readonly linesMax: number
}

function objection({ name, lines, linesMax }: Place, allowed: number | undefined): string | null {
  if (lines <= linesMax) return null
  const what = name.split('#')[1] ?? 'the file'
  if (allowed === undefined) return `${what} has ${lines} lines, the limit is ${linesMax}`
  if (lines > allowed)
    return `${what} grew from ${allowed} to ${lines} lines, the limit is ${linesMax}`
  return lines < allowed
    ? `${what} shrank to ${lines} lines: lower its baseline of ${allowed}`
    : null
}

const REGISTERS = new Set(['describe', 'it', 'suite', 'test'])

/** Whether a function only groups tests: its length is theirs, and each of them is measured. */
function groupsTests({ node }: FunctionFound): boolean {
  const body = node.body
  if (body?.type !== 'BlockStatement') return false
  return body.body.some((statement) => nodesOf(statement).some(isRegistration))
}

function isRegistration(node: Node): boolean {
  if (node.type !== 'CallExpression') return false
  // test(…), test.each(table)(…)
  let callee: Node = node.callee
  while (callee.type === 'MemberExpression' || callee.type === 'CallExpression') {
    callee = callee.type === 'MemberExpression' ? callee.object : callee.callee
  }
  return REGISTERS.has(nameOf(callee) ?? '')
}
