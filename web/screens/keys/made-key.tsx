import { useEffect, useRef } from 'react'
import type { CreatedApiKey } from '../../api/answers.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'

/** A key that was just made: the only time that its text is shown. */
export function MadeKey({ made, onDone }: { made: CreatedApiKey; onDone: () => void }) {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    ref.current?.focus()
  }, [])
  return (
    <section className="made" aria-labelledby="made-title">
      <Icon name="check" />
      <div>
        <h2 id="made-title">Key “{made.name}” is ready</h2>
        <p>Copy it now: it is shown this once, and only its SHA-256 is stored.</p>
      </div>
      <div className="secret">
        <input
          ref={ref}
          className="mono"
          readOnly
          value={made.key}
          aria-label="The new key"
          autoComplete="off"
          onFocus={(event) => event.target.select()}
        />
        <CopyButton text={made.key} label="Copy the key" />
        <button type="button" className="btn ghost" onClick={onDone}>
          Done
        </button>
      </div>
    </section>
  )
}
