import { PROBLEMS, type ProblemCode } from '../../vocabulary/problem.ts'
import { prose } from './html.ts'

/** Every error as HTML: what it means, what to do, and whether to try again. */
export function problemSection(): string {
  const byStatus = Map.groupBy(ALL_CODES, (code) => PROBLEMS[code].httpStatus)
  const groups = [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([httpStatus, codes]) => {
      const rows = codes.map((code) => row(code)).join('')
      return `<h3 id="status-${httpStatus}">${httpStatus}</h3><table class="problems"><tbody>${rows}</tbody></table>`
    })
  return groups.join('')
}

function row(code: ProblemCode): string {
  const { meaning, remedy } = PROBLEMS[code]
  const again = PROBLEMS[code].retryable ? '<small>try again later</small>' : ''
  return `<tr id="error-${code}"><th scope="row"><code>${code}</code>${again}</th><td>${prose(meaning)} <strong>${prose(remedy)}</strong></td></tr>`
}

const ALL_CODES = Object.keys(PROBLEMS).filter((code): code is ProblemCode => code in PROBLEMS)
