import { useRef } from 'react'
import { TEXT_CHARS_MAX } from '../../src/vocabulary/text-chars.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import { Icon } from './icon.tsx'

interface FindFieldProps {
  /** The fields that are searched: "Name, email or ID". */
  readonly label: string
  /** Default: the label. */
  readonly placeholder?: string
  readonly value: string
  readonly onChange: (text: string) => void
}

/** The field of a screen that finds something in its list; the key / moves there. */
export function FindField({ label, placeholder = label, value, onChange }: FindFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useShortcuts({ '/': () => field.current?.focus() })
  return (
    <label className="find">
      <Icon name="search" small />
      <input
        ref={field}
        type="search"
        aria-label={label}
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        maxLength={TEXT_CHARS_MAX.search}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          // With a text in it, browsers clear it.
          if (event.key === 'Escape' && value === '') event.currentTarget.blur()
        }}
      />
      <kbd className="hide-s">/</kbd>
    </label>
  )
}
