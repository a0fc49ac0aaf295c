import { problemOfCode } from '../../../src/vocabulary/problem.ts'
import type { RequestSummary } from '../../api/answers.ts'
import { count } from '../../format/numbers.ts'

const CODES_MAX = 4
// Each takes a line there, or nearly.
const PHONE_CODES_MAX = 1

interface ErrorsProps {
  readonly summary: Pick<RequestSummary, 'failed' | 'errors'>
  /** Opens the newest request that failed so. */
  readonly onOpen: (requestId: string) => void
}

/** Why requests failed: the most frequent error codes, each with its number of requests. */
export function Errors({ summary: { failed, errors }, onOpen }: ErrorsProps) {
  if (failed === 0) return null
  const { codes, unknown } = errors
  const othersAfter = (shown: number) =>
    codes.slice(shown).reduce((sum, { requests }) => sum + requests, 0)
  return (
    <p className="sum errors">
      <span>Errors</span>
      {codes.slice(0, CODES_MAX).map((each, place) => (
        <span key={each.code} className={place < PHONE_CODES_MAX ? '' : 'hide-s'}>
          <Code {...each} onOpen={onOpen} />
        </span>
      ))}
      <Others className="hide-s" requests={othersAfter(CODES_MAX)} />
      <Others className="only-s" requests={othersAfter(PHONE_CODES_MAX)} />
      {unknown > 0 && <span>{count(unknown)} from before codes were counted</span>}
    </p>
  )
}

function Others({ className, requests }: { className: string; requests: number }) {
  return requests > 0 && <span className={className}>{count(requests)} with other codes</span>
}

type CodeProps = RequestSummary['errors']['codes'][number] & Pick<ErrorsProps, 'onOpen'>

function Code({ code, requests, latest, onOpen }: CodeProps) {
  const text = (
    <>
      <b>{count(requests)}</b> <span className="mono">{code}</span>
    </>
  )
  const meaning = meaningOf(code)
  if (latest === null) return <span title={meaning}>{text}</span>
  return (
    <button
      type="button"
      className="link"
      title={`${meaning} Opens the latest request.`.trim()}
      onClick={() => onOpen(latest)}
    >
      {text}
    </button>
  )
}

function meaningOf(code: string): string {
  return problemOfCode(code)?.meaning.replaceAll('`', '') ?? ''
}
