import { useLayoutEffect, useRef, useState } from 'react'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { Icon } from '../parts/icon.tsx'
import { Matches, useMatches } from '../parts/matches.tsx'
import { usePaletteEntries } from './palette-entries.ts'
import type { Navigation } from './section-links.tsx'

interface PaletteProps {
  readonly navigation: Navigation
  readonly onClose: () => void
}

/** Finds sections, accounts, keys, models, actions and IDs, and opens what is chosen. */
export function Palette({ navigation, onClose }: PaletteProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const { entries, isSearching } = usePaletteEntries(navigation, text)
  const matches = useMatches({
    rows: entries,
    onPick(entry) {
      onClose()
      entry.open()
    },
  })
  // Before the key that opened it is through: the next letter may follow at once.
  useLayoutEffect(() => {
    const before = document.activeElement
    if (ref.current?.open === false) ref.current.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
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
          aria-label="Search or jump to"
          placeholder="Section, name, email or ID"
          maxLength={TEXT_CHARS_MAX.search}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            matches.setAt(0)
          }}
          {...matches.field}
        />
        <kbd className="hide-s">Esc</kbd>
      </div>
      {entries.length === 0 ? (
        <p className="note none" role="status">
          {isSearching ? 'Searching…' : 'No match. Search by name, email or ID.'}
        </p>
      ) : (
        <Matches of={matches} label="Matches">
          {({ icon, text: name, note }) => (
            <>
              <Icon name={icon} />
              <span className="flex-1">{name}</span>
              <small>{note}</small>
            </>
          )}
        </Matches>
      )}
    </dialog>
  )
}
