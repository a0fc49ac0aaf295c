import { DAY_MS } from '../../../src/vocabulary/clock.ts'
import type { Comparison, DateRange } from '../../../src/vocabulary/date-range.ts'
import type { Usage, UsageFigures } from '../../api/answers.ts'
import { firstByteTexts } from '../../format/first-byte.ts'
import { money } from '../../format/money.ts'
import { change, count, percent, shortCount } from '../../format/numbers.ts'
import { comparedPhrase, comparedText } from '../../format/ranges.ts'
import { Grey } from '../../parts/states.tsx'
import { FAILED_COUNTS, FailedLink, RefusedLink } from '../activity/failed-link.tsx'

interface Figure {
  readonly title: string
  readonly value: string
  readonly note: string
}

interface FiguresProps {
  readonly sums: Pick<Usage, 'from' | 'to' | 'figures' | 'before'>
  readonly compare: Comparison
  readonly range: DateRange
}

/** Six figures of the range, compared with those of another range. */
export function Figures(props: FiguresProps) {
  return (
    <section className="card stats" aria-label="Figures of the range">
      {figuresOf(props).map(({ title, value, note }) => (
        <div key={title} className="stat">
          <h2 className="lab" title={title === 'Failed' ? FAILED_COUNTS : undefined}>
            {title}
          </h2>
          <b>{value}</b>
          <p>
            {title === 'Failed' && props.sums.figures.failed > 0 ? (
              <FailedLink range={props.range}>{note}</FailedLink>
            ) : (
              note
            )}
          </p>
          {title === 'Failed' && (
            <RefusedLink range={props.range} forwarded={props.sums.figures.requests} />
          )}
        </div>
      ))}
    </section>
  )
}

function figuresOf({ sums, compare }: FiguresProps): readonly Figure[] {
  const { figures, before } = sums
  const span = { fromMs: Date.parse(sums.from), toMs: Date.parse(sums.to) }
  const days = Math.round((span.toMs - span.fromMs) / DAY_MS)
  const period = comparedText(span, compare)
  const spend = change(figures.charge, before.charge)
  const requests = change(figures.requests, before.requests)
  const perDay = Math.round(figures.requests / Math.max(1, days))
  return [
    {
      title: 'Spend',
      value: money(figures.charge),
      note: spend === null ? `nothing ${comparedPhrase(span, compare)}` : `${spend} ${period}`,
    },
    {
      title: 'Requests',
      value: count(figures.requests),
      note: [
        ...(requests === null ? [] : [requests.replace(/ (?:than|as)$/, '')]),
        ...(days > 1 && perDay > 0 ? [`${count(perDay)} a day`] : []),
      ].join(', '),
    },
    {
      title: 'Failed',
      value: percent(figures.failed, figures.requests),
      note:
        figures.failed === 0 ? 'none' : `${count(figures.failed)} of ${count(figures.requests)}`,
    },
    {
      title: 'Tokens in',
      value: shortCount(figures.input_tokens),
      note: `${percent(figures.cache_read_tokens, figures.input_tokens)} read from cache`,
    },
    {
      title: 'Tokens out',
      value: shortCount(figures.output_tokens),
      note:
        figures.reasoning_tokens === 0
          ? 'no reasoning'
          : `${shortCount(figures.reasoning_tokens)} of them reasoning`,
    },
    firstByte(figures),
  ]
}

function firstByte(figures: UsageFigures): Figure {
  const { p50, p95 } = firstByteTexts(figures)
  if (p50 === null) return { title: 'First byte', value: '–', note: 'no answer yet' }
  const note = p95 === null ? 'median; too few requests for 95%' : `median; 95% within ${p95}`
  return { title: 'First byte', value: p50, note }
}

/** The shapes of the figures until the answer arrives. */
export function GreyFigures() {
  return (
    <section className="card stats" aria-hidden="true">
      {['a', 'b', 'c', 'd', 'e', 'f'].map((one) => (
        <div key={one} className="stat grid content-start gap-3">
          <Grey width={60} />
          <Grey width={104} height={22} />
          <Grey width="80%" height={12} />
        </div>
      ))}
    </section>
  )
}
