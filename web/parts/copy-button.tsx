import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'

const SAID_MS = 1_600

interface CopyButtonProps {
  readonly text: string
  /** The label for screen readers: "Copy the key". */
  readonly label: string
  /** Only an icon. */
  readonly bare?: boolean
  readonly className?: string
  /** Called once it is copied. */
  readonly onCopied?: () => void
}

/** Copies a text and says that it did. */
export function CopyButton(props: CopyButtonProps) {
  const { text, label, bare = false, className = '', onCopied } = props
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SAID_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () => {
    // Without TLS and away from loopback, browsers offer no clipboard.
    const writing = navigator.clipboard?.writeText(text) ?? Promise.reject()
    writing.then(
      () => {
        setState('copied')
        onCopied?.()
      },
      () => setState('refused'),
    )
  }
  const said = state === 'copied' ? 'Copied' : state === 'refused' ? 'Select and copy' : 'Copy'
  return (
    <button
      type="button"
      className={`${bare ? 'iconb' : 'btn'} ${className}`}
      aria-label={state === 'idle' ? label : said}
      title={bare ? label : undefined}
      onClick={copy}
    >
      <Icon name={state === 'copied' ? 'check' : 'copy'} small={bare} />
      {!bare && said}
    </button>
  )
}
