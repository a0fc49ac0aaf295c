import { Prose } from './prose.tsx'

interface ProblemProps {
  /** Null or undefined: there is none. */
  readonly text: string | null | undefined
  readonly className?: string
}

/** A problem, read out at once; nothing without one. */
export function Problem({ text, className = '' }: ProblemProps) {
  if (text === null || text === undefined) return null
  return (
    <p className={`problem ${className}`} role="alert">
      <Prose text={text} />
    </p>
  )
}
