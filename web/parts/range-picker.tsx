import { type FormEvent, useId, useState } from 'react'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import {
  type Comparison,
  type DateRange,
  dateOf,
  type MovingRange,
  monthOf,
  monthStart,
  RANGE_DAYS_MAX,
  readTypedDate,
  type TimeSpan,
  wholeMonth,
  yesterday,
} from '../../src/vocabulary/date-range.ts'
import { currentMs } from '../api/clock.ts'
import { counted } from '../format/numbers.ts'
import { comparedText, dateText, RANGE_WORDS, rangeText } from '../format/ranges.ts'
import { Calendar, ONE_MONTH_IS_SHOWN } from './calendar.tsx'
import { Icon } from './icon.tsx'
import { Popover } from './popover.tsx'

/** A range, and what it is compared with; null: nothing. */
interface PickedRange {
  readonly range: DateRange
  readonly compare: Comparison | null
}

/** A range that ends now, such as the last hour, in addition to those of days. */
interface Hours {
  readonly value: string
  readonly text: string
  readonly isPicked: boolean
  readonly onPick: () => void
}

interface RangePickerProps extends PickedRange {
  /** The time that a range spans here. */
  readonly spanOf: (range: DateRange) => TimeSpan
  readonly onChange: (picked: PickedRange) => void
  /** The possible comparisons of the range. Default: none. */
  readonly comparisons?: readonly (Comparison | null)[]
  readonly hours?: readonly Hours[]
  /** Which edge of the button its panel is aligned with. Default: the end. */
  readonly align?: 'start' | 'end'
}

/** The button with the range that is shown, and the panel in which another one is picked. */
export function RangePicker(props: RangePickerProps) {
  const { range, compare, spanOf, hours = [], comparisons = [], align = 'end' } = props
  const text = hours.find(({ isPicked }) => isPicked)?.text ?? rangeText(range)
  const isCompared = compare !== null && comparisons.includes(null)
  return (
    <Popover
      label="Date range"
      align={align}
      className="range-panel"
      button={(button) => (
        <button type="button" className="pill on" {...button}>
          <Icon name="calendar" small />
          <span className="vh">Date range: </span>
          {text}
          {isCompared && (
            <span className="v hide-s">vs {comparedText(spanOf(range), compare)}</span>
          )}
          <Icon name="down" small />
        </button>
      )}
    >
      {(close) => <Panel {...props} close={close} />}
    </Popover>
  )
}

const ENDS = ['from', 'to'] as const

interface Preset {
  readonly text: string
  readonly range: DateRange
}

const moving = (range: MovingRange): Preset => ({
  text: RANGE_WORDS[range],
  range: { kind: 'moving', range },
})

function presetsAt(nowMs: number): readonly (readonly Preset[])[] {
  return [
    [
      moving('today'),
      { text: 'Yesterday', range: yesterday(nowMs) },
      moving('7d'),
      moving('30d'),
      moving('90d'),
    ],
    [moving('month'), { text: 'Last month', range: wholeMonth(nowMs, -1) }, moving('year')],
    [moving('all')],
  ]
}

function Panel(props: RangePickerProps & { readonly close: () => void }) {
  const { close, onChange, spanOf, comparisons = [] } = props
  const nowMs = currentMs()
  const [compare, setCompare] = useState(props.compare)
  const draft = useDraft(props, nowMs)
  const span = spanOf(draft.range)
  const days = daysOf(span)
  const [monthMs, setMonthMs] = useState(() => firstMonth(days, nowMs))
  const apply = (range: DateRange) => {
    close()
    onChange({ range, compare })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const range = draft.read()
    if (range === null) return
    // The dates only stand for the hours that are shown, and nothing else was picked.
    const areHours = props.hours?.some(({ isPicked }) => isPicked) && isSame(range, props.range)
    if (areHours) close()
    else apply(range)
  }
  return (
    <form className="range-form" onSubmit={submit} noValidate>
      <Presets {...props} draft={draft.range} nowMs={nowMs} onPick={apply} />
      <div className="body">
        <TypedDays draft={draft} days={days} />
        <Calendar
          days={days}
          today={dateOf(nowMs)}
          monthMs={monthMs}
          onMonth={setMonthMs}
          onWhole={(startMs) =>
            draft.pick(
              startMs === monthStart(nowMs)
                ? { kind: 'moving', range: 'month' }
                : wholeMonth(startMs),
            )
          }
          onDay={(date) => {
            const ends = draft.isHalf ? [days.from, date].toSorted() : [date]
            const [from = date, to = date] = ends
            draft.pick({ kind: 'dates', from, to }, !draft.isHalf)
          }}
        />
        {comparisons.length > 0 && (
          <CompareTo comparisons={comparisons} value={compare} span={span} onChange={setCompare} />
        )}
      </div>
      <footer>
        <p className="note">{counted(lengthOf(span), 'day')}. Days are UTC, as in the ledger.</p>
        <button type="button" className="btn ghost" onClick={close}>
          Cancel
        </button>
        {/* A press that took the focus from a date would end its error, and move the button away from the pointer. */}
        <button type="submit" className="btn pri" onMouseDown={(event) => event.preventDefault()}>
          Apply
        </button>
      </footer>
    </form>
  )
}

type Typed = Readonly<Record<(typeof ENDS)[number], string>>

/** The range that Apply would set, its typed dates, and the error in them. */
function useDraft({ range: first, spanOf }: RangePickerProps, nowMs: number) {
  const [range, setRange] = useState(first)
  // Whether only the first of two days is picked.
  const [isHalf, setHalf] = useState(false)
  const [typed, setTyped] = useState<Typed | null>(null)
  const [error, setError] = useState<string | null>(null)
  const pick = (next: DateRange, isNowHalf = false) => {
    setRange(next)
    setHalf(isNowHalf)
    setTyped(null)
    setError(null)
  }
  return {
    range,
    isHalf,
    typed,
    error,
    pick,
    setTyped,
    /** Takes what was typed, if it is two dates. */
    take() {
      const read = typed === null ? null : readTyped(typed, nowMs)
      if (read !== null && typeof read !== 'string') pick(read)
    },
    /** The range to apply; null: something is wrong, which is shown then. */
    read(): DateRange | null {
      const read = typed === null ? range : readTyped(typed, nowMs)
      if (typeof read === 'string') setError(read)
      else if (lengthOf(spanOf(read)) > RANGE_DAYS_MAX)
        setError(`Choose at most ${RANGE_DAYS_MAX} days.`)
      else return read
      return null
    },
  }
}

interface TypedDaysProps {
  readonly draft: ReturnType<typeof useDraft>
  readonly days: Typed
}

function TypedDays({ draft, days }: TypedDaysProps) {
  const errorId = useId()
  const { error } = draft
  const texts = draft.typed ?? { from: dateText(days.from), to: dateText(days.to) }
  return (
    <>
      <div className="pair-f">
        {ENDS.map((name) => (
          <label key={name}>
            {name === 'to' && <span aria-hidden="true">to</span>}
            <span className="vh">{name === 'from' ? 'From' : 'To, included'}</span>
            <input
              className="inp"
              value={texts[name]}
              autoComplete="off"
              spellCheck={false}
              aria-invalid={error === null ? undefined : true}
              aria-describedby={error === null ? undefined : errorId}
              onChange={({ target }) => draft.setTyped({ ...texts, [name]: target.value })}
              onBlur={draft.take}
            />
          </label>
        ))}
      </div>
      {error !== null && (
        <p className="field-error" id={errorId} role="alert">
          {error}
        </p>
      )}
    </>
  )
}

interface PresetsProps extends Pick<RangePickerProps, 'hours'> {
  readonly draft: DateRange
  readonly nowMs: number
  readonly close: () => void
  readonly onPick: (range: DateRange) => void
}

function Presets({ hours = [], draft, nowMs, close, onPick }: PresetsProps) {
  const isHourPicked = hours.some(({ isPicked }) => isPicked)
  return (
    <div className="presets">
      {hours.length > 0 && <HourPresets hours={hours} close={close} />}
      {presetsAt(nowMs).map((group, place) => (
        <div key={group[0]?.text} className={place === 0 && hours.length === 0 ? '' : 'rule'}>
          {group.map(({ text, range }) => (
            <button
              key={text}
              type="button"
              aria-pressed={!isHourPicked && isSame(range, draft)}
              onClick={() => onPick(range)}
            >
              {text}
            </button>
          ))}
        </div>
      ))}
    </div>
  )
}

function HourPresets({ hours, close }: { hours: readonly Hours[]; close: () => void }) {
  return (
    <div>
      {hours.map(({ value, text, isPicked, onPick }) => (
        <button
          key={value}
          type="button"
          aria-pressed={isPicked}
          onClick={() => {
            close()
            onPick()
          }}
        >
          {text}
        </button>
      ))}
    </div>
  )
}

interface CompareToProps {
  readonly comparisons: readonly (Comparison | null)[]
  readonly value: Comparison | null
  readonly span: TimeSpan
  readonly onChange: (compare: Comparison | null) => void
}

function CompareTo({ comparisons, value, span, onChange }: CompareToProps) {
  const textOf = (comparison: Comparison | null): string => {
    if (comparison === null) return 'Nothing'
    if (comparison === 'year') return 'Year before'
    return monthOf(span) === null ? 'Period before' : 'Month before'
  }
  return (
    <div className="cmp-row">
      <span>Compare to</span>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as a line in every browser */}
      <span className="chips" role="group" aria-label="Compare to">
        {comparisons.map((comparison) => (
          <button
            key={comparison}
            type="button"
            aria-pressed={comparison === value}
            onClick={() => onChange(comparison)}
          >
            {textOf(comparison)}
          </button>
        ))}
      </span>
    </div>
  )
}

function daysOf({ fromMs, toMs }: TimeSpan): { readonly from: string; readonly to: string } {
  return { from: dateOf(fromMs), to: dateOf(toMs - DAY_MS) }
}

function lengthOf({ fromMs, toMs }: TimeSpan): number {
  return Math.round((toMs - fromMs) / DAY_MS)
}

/** The month of the first day; where two months are shown, at the latest the month before this one. */
function firstMonth({ from }: { readonly from: string }, nowMs: number): number {
  if (matchMedia(ONE_MONTH_IS_SHOWN).matches) return monthStart(Date.parse(from))
  return Math.min(monthStart(Date.parse(from)), monthStart(nowMs, -1))
}

function isSame(one: DateRange, other: DateRange): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The typed range, or the error in it. */
function readTyped({ from, to }: Typed, nowMs: number): DateRange | string {
  const [first, last] = [readTypedDate(from, nowMs), readTypedDate(to, nowMs)]
  if (first === null || last === null) return 'Enter a date such as 31 Oct or 2026-10-31.'
  if (first > last) return 'The first day must not be after the last one.'
  return { kind: 'dates', from: first, to: last }
}
