import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { type Entry, usePaletteEntries } from './palette-entries.ts'
import type { Navigation } from './section-links.tsx'

interface PaletteProps {
  readonly navigation: Navigation
  readonly onClose: () => void
}

/** Finds sections, accounts, keys, models, actions and IDs, and opens what is chosen. */
export function Palette({ navigation, onClose }: PaletteProps) {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const entries = usePaletteEntries(navigation, text)
  const current = Math.min(at, entries.length - 1)
  useEffect(() => {
    const before = document.activeElement
    if (ref.current?.open === false) ref.current.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useEffect(() => {
    document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, current])
  const open = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.open()
  }
  const onKey = (event: KeyboardEvent) => {
    const by = STEPS[event.key]
    if (by !== undefined && entries.length > 0) {
      event.preventDefault()
      setAt((current + by + entries.length) % entries.length)
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      open(entries[current])
    }
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc does what a click outside of the dialog does
    <dialog
      ref={ref}
      className="palette"
      aria-label="Search or jump to"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === ref.current) ref.current.close()
      }}
    >
      <div className="ask">
        <Icon name="search" small />
        <input
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded={entries.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
          aria-autocomplete="list"
          autoComplete="off"
          spellCheck={false}
          placeholder="Section, name, email or ID"
          maxLength={200}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
          onKeyDown={onKey}
        />
        <kbd className="hide-s">Esc</kbd>
      </div>
      {entries.length === 0 ? (
        <p className="note none" role="status">
          No match. Search by name, email or ID.
        </p>
      ) : (
        <div id={`${id}-list`} role="listbox" aria-label="Matches">
          {entries.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field, which names the current option
            <div
              key={entry.id}
              id={`${id}-${index}`}
              className="menu-item"
              role="option"
              tabIndex={-1}
              aria-selected={index === current}
              onClick={() => open(entry)}
              onPointerMove={() => setAt(index)}
            >
              <Icon name={entry.icon} />
              <span className="flex-1">{entry.text}</span>
              <small>{entry.note}</small>
            </div>
          ))}
        </div>
      )}
    </dialog>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
