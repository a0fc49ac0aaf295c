import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

interface AddButtonProps {
  readonly onClick: () => void
  readonly children: ReactNode
}

/** The main button of a screen, which makes or adds something. */
export function AddButton({ onClick, children }: AddButtonProps) {
  return (
    <button type="button" className="btn pri" onClick={onClick}>
      <Icon name="plus" />
      {children}
    </button>
  )
}

interface RowButtonProps {
  readonly text: string
  /** The row, for screen readers: "the token shop". */
  readonly of: string
  readonly onClick: () => void
}

/** A button of a row. */
export function RowButton({ text, of, onClick }: RowButtonProps) {
  return (
    <button type="button" className="btn" aria-label={`${text} ${of}`} onClick={onClick}>
      {text}
    </button>
  )
}

interface CsvLinkProps {
  readonly href: string
  /** The name of the file. Default: the one that the server gives it. */
  readonly name?: string
  readonly isSmall?: boolean
}

/** Downloads a list or a report. */
export function CsvLink({ href, name, isSmall = false }: CsvLinkProps) {
  return (
    <a className="btn" href={href} download={name ?? true}>
      <Icon name="download" small={isSmall} />
      CSV
    </a>
  )
}
