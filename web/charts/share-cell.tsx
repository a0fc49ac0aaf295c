import type { ReactNode } from 'react'

interface ShareCellProps {
  readonly part: number | null
  readonly whole: number | null
  /** Whether a person typed the name in it, which is cut at the end of its line: it is whole in its title. Default: no. */
  readonly isName?: boolean
  readonly children: ReactNode
}

/** The first cell of a row, and a bar below it: how much of the whole it is. */
export function ShareCell({ part, whole, isName = false, children }: ShareCellProps) {
  const isShare = part !== null && whole !== null && whole !== 0
  const percent = isShare ? Math.min(100, (part / whole) * 100) : 0
  return (
    <td className={`wide wrap-anywhere min-[641px]:min-w-[150px] ${isName ? 'name' : ''}`}>
      {children}
      <span className="share">
        <i style={{ width: `${percent}%` }} />
      </span>
    </td>
  )
}
