import { PROBLEMS } from '../../../src/vocabulary/problem.ts'
import type { RequestSummary } from '../../api/answers.ts'
import { count } from '../../format/numbers.ts'
import { listTime } from '../../format/time.ts'
import { Time } from '../../parts/time.tsx'

const CODES_MAX = 4

interface ErrorsProps {
  readonly summary: Pick<RequestSummary, 'from' | 'failed' | 'errors'>
  /** Opens the newest request that failed so. */
  readonly onOpen: (requestId: string) => void
}

/** Why requests failed: the most frequent error codes, each with its number of requests. */
export function Errors({ summary: { from, failed, errors }, onOpen }: ErrorsProps) {
  if (failed === 0) return null
  const { codes } = errors
  const since = new Date(errors.from)
  const others = codes.slice(CODES_MAX).reduce((sum, { requests }) => sum + requests, 0)
  return (
    <p className="sum errors">
      <span>
        {codes.length === 0 ? 'No errors' : 'Errors'}
        {Date.parse(from) < since.getTime() && (
          <>
            {' since '}
            <Time at={since}>{listTime(since, new Date())}</Time>
          </>
        )}
      </span>
      {codes.slice(0, CODES_MAX).map(({ code, requests, latest }) => (
        <button
          key={code}
          type="button"
          className="link"
          title={`${meaningOf(code)} Opens the latest request.`.trim()}
          onClick={() => onOpen(latest)}
        >
          <b>{count(requests)}</b> <span className="mono">{code}</span>
        </button>
      ))}
      {others > 0 && <span>{count(others)} with other codes</span>}
    </p>
  )
}

function meaningOf(code: string): string {
  return Object.hasOwn(PROBLEMS, code)
    ? PROBLEMS[code as keyof typeof PROBLEMS].meaning.replaceAll('`', '')
    : ''
}
