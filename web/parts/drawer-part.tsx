import type { ReactNode } from 'react'

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

/** A term and its value, in a list of class `kv`. */
export function Line({ term, className = '', children }: LineProps) {
  return (
    <>
      <dt className={className}>{term}</dt>
      <dd className={className}>{children}</dd>
    </>
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
