import type { UseQueryResult } from '@tanstack/react-query'
import { DAY_MS, HOUR_MS } from '../../../src/vocabulary/clock.ts'
import type { RequestSummary } from '../../api/answers.ts'
import { currentMs, currentTime } from '../../api/clock.ts'
import { money } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { chartDay, dayAndShortMinute, dayOf, minuteTime } from '../../format/time.ts'
import { Grey, NotLoaded } from '../../parts/states.tsx'
import { useWidth } from '../../parts/use-width.ts'
import { Errors } from './errors.tsx'

interface SummaryProps {
  readonly query: UseQueryResult<RequestSummary>
  readonly onOpen: (requestId: string) => void
}

/** The number of requests, their charges, why they failed, and when they were made. */
export function Summary({ query, onOpen }: SummaryProps) {
  const { data } = query
  if (data === undefined && query.isError) {
    return (
      <p className="sum">
        <NotLoaded what="The counts could not be loaded" query={query} />
      </p>
    )
  }
  if (data === undefined) {
    return (
      <>
        <p className="sum">
          <Grey width={220} />
        </p>
        <div className="hist">
          <Grey width="100%" height={76} />
        </div>
      </>
    )
  }
  return (
    <>
      <p className="sum">
        <span>
          <b>{count(data.requests)}</b> {data.requests === 1 ? 'request' : 'requests'}
        </span>
        {data.charge !== null && (
          <span>
            <b>{money(data.charge)}</b> spent
          </span>
        )}
        {data.held !== null && data.held > 0 && (
          <span className="hide-s">
            <b>{money(data.held)}</b> held
          </span>
        )}
        <span>
          <b className={data.failed > 0 ? 'text-bad!' : ''}>{count(data.failed)}</b> failed
        </span>
      </p>
      <Errors summary={data} onOpen={onOpen} />
      <Columns summary={data} />
    </>
  )
}

interface SoFarProps {
  /** The number of requests found. */
  readonly requests: number
  /** The earliest time that was searched; null: the search is complete. */
  readonly backTo: Date | null
}

/** The number of requests found, if the range is not counted as a whole. */
export function SoFar({ requests, backTo }: SoFarProps) {
  return (
    <p className="sum">
      <span>
        <b>{count(requests)}</b>{' '}
        {backTo === null
          ? requests === 1
            ? 'request'
            : 'requests'
          : `so far, back to ${isToday(backTo) ? minuteTime(backTo) : dayOf(backTo, currentTime())}`}
      </span>
    </p>
  )
}

function isToday(at: Date): boolean {
  return at.toDateString() === currentTime().toDateString()
}

const NOW_WITHIN_MS = 120_000
const HEIGHT_PX = 60
const LABELS_PX = 16
const FAILED_PX_MIN = 1.5

function Columns({ summary }: { summary: RequestSummary }) {
  const [ref, widthPx] = useWidth()
  const { steps, requests, failed } = summary
  const most = Math.max(1, ...steps.map((step) => step.requests))
  const stepPx = steps.length === 0 ? 0 : widthPx / steps.length
  const heightOf = (value: number) => (value / most) * (HEIGHT_PX - 4)
  const isNow = Math.abs(currentMs() - Date.parse(summary.to)) < NOW_WITHIN_MS
  const middle = steps[Math.floor(steps.length / 2)]
  const label = labelOf(summary)
  const first = label(summary.from)
  const last = isNow ? 'now' : lastLabel(summary)
  return (
    <div className="hist" ref={ref}>
      <svg
        width={widthPx}
        height={HEIGHT_PX + LABELS_PX}
        role="img"
        aria-label={`Requests by time: ${count(requests)}, ${count(failed)} of them failed`}
      >
        {steps.map((step, at) => {
          const box = { x: at * stepPx + stepPx * 0.06, width: stepPx * 0.88, rx: 1.5 }
          const all = heightOf(step.requests)
          const bad = step.failed === 0 ? 0 : Math.max(FAILED_PX_MIN, heightOf(step.failed))
          return (
            <g key={step.at}>
              <title>{`${label(step.at)}: ${count(step.requests)}, ${count(step.failed)} failed`}</title>
              {all > 0 && <rect className="all" {...box} y={HEIGHT_PX - all} height={all} />}
              {bad > 0 && <rect className="failed" {...box} y={HEIGHT_PX - bad} height={bad} />}
            </g>
          )
        })}
        <text x={0} y={HEIGHT_PX + 14}>
          {first}
        </text>
        {middle !== undefined && ![first, last].includes(label(middle.at)) && (
          <text x={widthPx / 2} y={HEIGHT_PX + 14} textAnchor="middle">
            {label(middle.at)}
          </text>
        )}
        <text x={widthPx} y={HEIGHT_PX + 14} textAnchor="end">
          {last}
        </text>
      </svg>
    </div>
  )
}

/** How a time on the axis is written: the day of columns of a day, otherwise the time, with the day if the range has more than one. */
function labelOf(summary: RequestSummary): (at: string) => string {
  if (isByDay(summary)) return (at) => chartDay(new Date(at))
  const lengthMs = Date.parse(summary.to) - Date.parse(summary.from)
  // Counts of all accounts begin at a whole hour.
  if (lengthMs < DAY_MS + HOUR_MS) return (at) => minuteTime(new Date(at))
  return (at) => dayAndShortMinute(new Date(at), currentTime())
}

function isByDay({ from, to, steps: [first, second] }: RequestSummary): boolean {
  const stepMs = Date.parse(second?.at ?? to) - Date.parse(first?.at ?? from)
  return stepMs >= DAY_MS
}

/** The last day of the range, not the one after it. */
function lastLabel(summary: RequestSummary): string {
  const { to } = summary
  return isByDay(summary) ? chartDay(new Date(Date.parse(to) - 1)) : labelOf(summary)(to)
}
