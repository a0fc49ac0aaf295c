import { useEffect, useRef } from 'react'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'

interface MadeSecretProps {
  /** "A code of $25.00 is ready". */
  readonly title: string
  readonly text: string
  /** What it is: "code". */
  readonly noun: string
  /** What it is for, and how it is kept. Default: only its SHA-256 is stored. */
  readonly words?: string
  readonly onDone: () => void
}

/** A text that was just made, with the focus on it: the only time that it is shown. */
export function MadeSecret({
  title,
  text,
  noun,
  words = 'Copy it now: it is shown this once, and only its SHA-256 is stored.',
  onDone,
}: MadeSecretProps) {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    ref.current?.focus()
  }, [])
  return (
    <section className="made" aria-labelledby="made-title">
      <Icon name="check" />
      <div>
        <h2 id="made-title">{title}</h2>
        <p>{words}</p>
      </div>
      <div className="secret">
        <input
          ref={ref}
          className="mono"
          readOnly
          value={text}
          aria-label={`The new ${noun}`}
          autoComplete="off"
          onFocus={(event) => event.target.select()}
        />
        <CopyButton text={text} label={`Copy the ${noun}`} />
        <button type="button" className="btn ghost" onClick={onDone}>
          Done
        </button>
      </div>
    </section>
  )
}
