import type { ReactNode, RefObject } from 'react'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'

interface DrawerHeadProps {
  /** The kind of thing that the drawer shows, such as `model`. */
  readonly noun: string
  readonly title: string
  readonly id: string
  /** The heading, which may take the focus. */
  readonly heading: RefObject<HTMLHeadingElement | null>
  readonly onClose: () => void
}

/** The head of a drawer: what it shows, its ID to copy, and the button that closes it. */
export function DrawerHead({ noun, title, id, heading, onClose }: DrawerHeadProps) {
  return (
    <header>
      <div>
        <h2 ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <div className="idl">
          <span className="mono">{id}</span>
          <CopyButton text={id} label={`Copy the ${noun} ID`} bare className="-my-1.5" />
        </div>
      </div>
      <button type="button" className="iconb" aria-label={`Close the ${noun}`} onClick={onClose}>
        <Icon name="close" small />
      </button>
    </header>
  )
}

/** A part of a drawer, with its heading. */
export function DrawerPart({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

interface LineProps {
  readonly term: string
  readonly className?: string
  readonly children: ReactNode
}

/** A term and its value, in a list of class `kv`; a value that does not fit next to its term is below it. */
export function Line({ term, className = '', children }: LineProps) {
  return (
    <div className={className}>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Words side by side. */
export function Words({ words }: { words: readonly string[] }) {
  return (
    <div className="mods">
      {words.map((word) => (
        <span key={word}>{word}</span>
      ))}
    </div>
  )
}
