import { useBlocker } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { FormDialog } from './form-dialog.tsx'
import { Icon } from './icon.tsx'
import { createStore, useListed } from './store.ts'
import { useUnsaved } from './unsaved.ts'

interface MadeSecretProps {
  /** "A code of $25.00 is ready". */
  readonly title: string
  readonly text: string
  /** The noun for it: "code". */
  readonly noun: string
  /** Its purpose, and how to keep it. Default: copy it now. */
  readonly words?: string
  /** Whether it was copied together with other lines. Default: no. */
  readonly wasCopied?: boolean
  readonly onDone: () => void
}

/** A text that was just made, with the focus on it: the only time that it is shown. */
export function MadeSecret({
  title,
  text,
  noun,
  words = 'Copy it now: it is shown only once.',
  wasCopied = false,
  onDone,
}: MadeSecretProps) {
  const ref = useRef<HTMLInputElement>(null)
  const titleId = useId()
  const [isItselfCopied, setCopied] = useState(false)
  const isCopied = isItselfCopied || wasCopied
  const [isEnding, setEnding] = useState(false)
  useEffect(() => {
    ref.current?.focus()
  }, [])
  return (
    <section className="made" aria-labelledby={titleId}>
      <Icon name="check" />
      <div>
        <h2 id={titleId}>{title}</h2>
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
          onCopy={() => setCopied(true)}
        />
        <CopyButton text={text} label={`Copy the ${noun}`} onCopied={() => setCopied(true)} />
        <button
          type="button"
          className="btn ghost"
          onClick={() => (isCopied ? onDone() : setEnding(true))}
        >
          Done
        </button>
      </div>
      <LeaveUncopied
        noun={noun}
        isCopied={isCopied}
        isEnding={isEnding}
        onLeave={onDone}
        onStay={() => setEnding(false)}
      />
    </section>
  )
}

interface LeaveUncopiedProps {
  readonly noun: string
  readonly isCopied: boolean
  /** Whether a button or a key leaves it, and not another page. */
  readonly isEnding: boolean
  readonly onLeave: () => void
  readonly onStay: () => void
}

// What is shown and was not copied: the first asks for all when another page is opened.
const uncopied = createStore<readonly symbol[]>([])

/** Asks before something that is shown only once is left, if it was not copied; nothing before that. */
export function LeaveUncopied({ noun, isCopied, isEnding, onLeave, onStay }: LeaveUncopiedProps) {
  const { isFirst, count } = useListed(uncopied, !isCopied)
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => isFirst && current.pathname !== next.pathname,
    enableBeforeUnload: () => !isCopied,
    withResolver: true,
  })
  useUnsaved(!isCopied)
  const isBlocked = leaving.status === 'blocked'
  if (!isEnding && !isBlocked) return null
  const isOne = !noun.endsWith('s') && (!isBlocked || count === 1)
  const named = isOne || noun.endsWith('s') ? noun : `${noun}s`
  return (
    <FormDialog
      title={`${isBlocked ? 'Leave' : 'Close'} without copying the ${named}?`}
      submit={isBlocked ? 'Leave' : 'Close'}
      cancel={isBlocked ? 'Stay' : 'Go back'}
      isDangerous
      onSubmit={isBlocked ? leaving.proceed : onLeave}
      onClose={isBlocked ? leaving.reset : onStay}
    >
      <p>{isOne ? 'It' : 'They'} cannot be shown again.</p>
    </FormDialog>
  )
}
