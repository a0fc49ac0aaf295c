import type { ReactNode } from 'react'

interface ShareCellProps {
  readonly part: number | null
  readonly whole: number | null
  /** Default: none. */
  readonly className?: string
  readonly children: ReactNode
}

/** The first cell of a row, and a bar below it: how much of the whole it is. */
export function ShareCell({ part, whole, className = '', children }: ShareCellProps) {
  const isShare = part !== null && whole !== null && whole !== 0
  const percent = isShare ? Math.min(100, (part / whole) * 100) : 0
  return (
    <td className={`wide wrap-anywhere min-[821px]:min-w-[150px] ${className}`}>
      {children}
      <span className="share">
        <i style={{ width: `${percent}%` }} />
      </span>
    </td>
  )
}
