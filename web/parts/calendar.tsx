import { type KeyboardEvent, useRef } from 'react'
import { DAY_MS } from '../../src/vocabulary/clock.ts'
import { dateOf, monthStart } from '../../src/vocabulary/date-range.ts'
import { Icon } from './icon.tsx'

const WEEK_DAYS = 7
const WEEKDAYS = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'] as const

const monthName = new Intl.DateTimeFormat('en-GB', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
const dayName = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** The windows in which `.hide-s` hides the second month. */
export const ONE_MONTH_IS_SHOWN = '(max-width: 640px)'

/** Days from one to another, both included. */
interface Days {
  readonly from: string
  readonly to: string
}

interface CalendarProps {
  /** Null: none are marked. */
  readonly days: Days | null
  readonly today: string
  /** When the first of the two months begins. */
  readonly monthMs: number
  readonly onMonth: (monthMs: number) => void
  readonly onDay: (date: string) => void
  readonly onWhole: (monthMs: number) => void
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -WEEK_DAYS,
  ArrowDown: WEEK_DAYS,
}

/** Two months, on a phone one: days and whole months are picked in them. Arrow keys move through the days. */
export function Calendar(props: CalendarProps) {
  const ref = useRef<HTMLDivElement>(null)
  const { days, monthMs, today, onMonth } = props
  const todayMs = Date.parse(today)
  const months = matchMedia(ONE_MONTH_IS_SHOWN).matches ? 1 : 2
  const isVisible = (date: string) =>
    Date.parse(date) >= monthMs && Date.parse(date) < monthStart(monthMs, months)
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    const date = event.target instanceof HTMLElement ? event.target.dataset['date'] : undefined
    if (step === undefined || date === undefined) return
    event.preventDefault()
    const nextMs = Math.min(todayMs, Date.parse(date) + step * DAY_MS)
    const focus = () =>
      ref.current?.querySelector<HTMLElement>(`[data-date="${dateOf(nextMs)}"]`)?.focus()
    if (isVisible(dateOf(nextMs))) return focus()
    onMonth(nextMs < monthMs ? monthStart(nextMs) : monthStart(nextMs, 1 - months))
    requestAnimationFrame(focus)
  }
  const isLast = monthStart(monthMs, 1) >= monthStart(todayMs)
  // One day is reached by Tab, the others from it.
  const entry =
    [...(days === null ? [] : [days.from, minOf(days.to, today)]), today].find(isVisible) ??
    dateOf(monthMs)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons in it are what keys act on
    <div className="cals" ref={ref} onKeyDown={move}>
      <Month
        {...props}
        entry={entry}
        startMs={monthMs}
        onEarlier={() => onMonth(monthStart(monthMs, -1))}
        onLater={monthMs < monthStart(todayMs) ? () => onMonth(monthStart(monthMs, 1)) : null}
        isLaterOnPhones
      />
      <div className="hide-s">
        <Month
          {...props}
          entry={entry}
          startMs={monthStart(monthMs, 1)}
          onEarlier={null}
          onLater={isLast ? null : () => onMonth(monthStart(monthMs, 1))}
        />
      </div>
    </div>
  )
}

interface MonthProps extends CalendarProps {
  readonly startMs: number
  /** The day that Tab reaches. */
  readonly entry: string
  readonly onEarlier: (() => void) | null
  readonly onLater: (() => void) | null
  readonly isLaterOnPhones?: boolean
}

function Month({ isLaterOnPhones = false, ...props }: MonthProps) {
  const { startMs, days, today, onWhole, onEarlier, onLater } = props
  const name = monthName.format(startMs)
  const [first, last] = [dateOf(startMs), dateOf(monthStart(startMs, 1) - DAY_MS)]
  const isWhole = days !== null && days.from === first && days.to >= minOf(last, today)
  return (
    <div className="cal">
      <div className="cal-h">
        <MonthButton label="Earlier month" icon="left" onClick={onEarlier} />
        <button
          type="button"
          className="m"
          aria-pressed={isWhole && days.to <= last}
          title="Select the whole month"
          disabled={first > today}
          onClick={() => onWhole(startMs)}
        >
          {name}
        </button>
        <span className={isLaterOnPhones ? 'only-s' : ''}>
          <MonthButton label="Later month" icon="right" onClick={onLater} />
        </span>
      </div>
      <table>
        <caption className="vh">{name}</caption>
        <thead>
          <tr>
            {WEEKDAYS.map((weekday) => (
              <th key={weekday} scope="col">
                {weekday}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(startMs).map((week) => (
            <tr key={week.find((date) => date !== null)}>
              {week.map((date, place) =>
                date === null ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: an empty cell is its place
                  <td key={place} />
                ) : (
                  <Day key={date} {...props} date={date} />
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface MonthButtonProps {
  readonly label: string
  readonly icon: 'left' | 'right'
  /** Null: there is no such month to go to. */
  readonly onClick: (() => void) | null
}

function MonthButton({ label, icon, onClick }: MonthButtonProps) {
  if (onClick === null) return <span className="iconb" aria-hidden="true" />
  return (
    <button type="button" className="iconb" aria-label={label} onClick={onClick}>
      <Icon name={icon} small />
    </button>
  )
}

interface DayProps extends Pick<MonthProps, 'days' | 'today' | 'entry' | 'onDay'> {
  readonly date: string
}

function Day({ date, days, today, entry, onDay }: DayProps) {
  const isIn = days !== null && date >= days.from && date <= days.to
  const isEnd = days !== null && (date === days.from || date === minOf(days.to, today))
  const isToday = date === today
  const marks = [isIn ? 'in' : '', isEnd ? 'end' : '', isToday ? 'today' : ''].filter(Boolean)
  return (
    <td className={marks.join(' ')}>
      <button
        type="button"
        data-date={date}
        disabled={date > today}
        tabIndex={date === entry ? 0 : -1}
        aria-pressed={isIn}
        aria-current={isToday ? 'date' : undefined}
        aria-label={dayName.format(new Date(date))}
        onClick={() => onDay(date)}
      >
        {Number(date.slice(-2))}
      </button>
    </td>
  )
}

function minOf(one: string, other: string): string {
  return one < other ? one : other
}

/** The weeks of a month, which begin on Mondays; null: a day of another month. */
function weeksOf(startMs: number): readonly (readonly (string | null)[])[] {
  const lead = (new Date(startMs).getUTCDay() + WEEK_DAYS - 1) % WEEK_DAYS
  const length = Math.round((monthStart(startMs, 1) - startMs) / DAY_MS)
  const cells = Math.ceil((lead + length) / WEEK_DAYS) * WEEK_DAYS
  const dates = Array.from({ length: cells }, (_, cell) => {
    const day = cell - lead
    return day < 0 || day >= length ? null : dateOf(startMs + day * DAY_MS)
  })
  return Array.from({ length: cells / WEEK_DAYS }, (_, week) =>
    dates.slice(week * WEEK_DAYS, (week + 1) * WEEK_DAYS),
  )
}
