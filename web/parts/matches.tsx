import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react'

/** A match of a text. */
interface Match {
  readonly id: string
}

interface MatchesInput<Row extends Match> {
  readonly rows: readonly Row[]
  readonly onPick: (row: Row) => void
  /** The place of the row that is current at first. Default 0. */
  readonly startAt?: number
}

/** The state of a field and of the matches below it, for {@link Matches}: arrow keys move through them, Enter picks one. */
export function useMatches<Row extends Match>({ rows, onPick, startAt = 0 }: MatchesInput<Row>) {
  const id = useId()
  const [at, setAt] = useState(startAt)
  const current = Math.min(at, rows.length - 1)
  useEffect(() => {
    document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, current])
  const onKeyDown = (event: KeyboardEvent) => {
    const by = STEPS[event.key]
    const picked = rows[current]
    if (by !== undefined && rows.length > 0) {
      event.preventDefault()
      setAt((current + by + rows.length) % rows.length)
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      if (picked !== undefined) onPick(picked)
    }
  }
  const field = {
    role: 'combobox',
    'aria-expanded': rows.length > 0,
    'aria-controls': `${id}-list`,
    'aria-activedescendant': current < 0 ? undefined : `${id}-${current}`,
    'aria-autocomplete': 'list',
    autoComplete: 'off',
    spellCheck: false,
    onKeyDown,
  } as const
  return { id, rows, onPick, current, setAt, field }
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

interface MatchesProps<Row extends Match> {
  readonly of: ReturnType<typeof useMatches<Row>>
  readonly label: string
  /** Draws a match. */
  readonly children: (row: Row) => ReactNode
}

/** The matches of a field. */
export function Matches<Row extends Match>({ of, label, children }: MatchesProps<Row>) {
  const { id, rows, onPick, current, setAt } = of
  return (
    <div id={`${id}-list`} role="listbox" aria-label={label}>
      {rows.map((row, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field, which names the current option
        <div
          key={row.id}
          id={`${id}-${index}`}
          className="menu-item"
          role="option"
          tabIndex={-1}
          aria-selected={index === current}
          onClick={() => onPick(row)}
          onPointerMove={() => setAt(index)}
        >
          {children(row)}
        </div>
      ))}
    </div>
  )
}
