import type { ProblemRow } from '../src/vocabulary/problem.ts'
import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

const ERRORS_PAGE = 'docs/errors.md'

/** The page of errors and the table of problems say the same, of the same codes. */
export function checkErrorsPage(
  files: readonly SourceFile[],
  problems: Readonly<Record<string, ProblemRow>>,
): Violation[] {
  const page = files.find(({ path }) => path === ERRORS_PAGE)
  if (page === undefined) return [{ path: ERRORS_PAGE, line: null, message: 'is missing' }]
  const violations: Violation[] = []
  const documented = new Set<string>()
  for (const { text, line } of readMarkdown(page.text).prose) {
    const [, code, ...told] = /^\| *`(\w+)` *\|(.*)\| *$/.exec(text) ?? []
    if (code === undefined) continue
    const cells = told
      .join('')
      .split('|')
      .map((cell) => cell.trim())
    const message = documented.has(code) ? 'stands twice' : objection(cells, problems[code])
    documented.add(code)
    if (message !== null)
      violations.push({ path: ERRORS_PAGE, line, message: `${code}: ${message}` })
  }
  const missing = Object.keys(problems).filter((code) => !documented.has(code))
  return [
    ...violations,
    ...missing.map((code) => ({ path: ERRORS_PAGE, line: null, message: `${code}: has no row` })),
  ]
}

function objection(cells: readonly string[], problem: ProblemRow | undefined): string | null {
  if (problem === undefined) return 'no problem has this code'
  const [status, owner, again, meaning = '', remedy = ''] = cells
  const expected = [String(problem.httpStatus), problem.owner, problem.retryable ? 'yes' : 'no']
  if ([status, owner, again].join() !== expected.join()) {
    return `says ${status}, ${owner}, ${again}; the table of problems says ${expected.join(', ')}`
  }
  return meaning === '' || remedy === '' ? 'says not what it means and what to do' : null
}
