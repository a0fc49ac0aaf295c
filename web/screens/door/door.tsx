import type { ReactNode } from 'react'
import { Brand } from '../../parts/icon.tsx'
import { useTitle } from '../../parts/use-title.ts'

interface DoorProps {
  readonly title: string
  readonly lead: ReactNode
  readonly children?: ReactNode
}

/** A page before the sign-in: one card in the middle. */
export function Door({ title, lead, children }: DoorProps) {
  useTitle(title)
  return (
    <div className="door">
      <main id="main">
        <a className="brand" href="/app/">
          <Brand />
        </a>
        <section className="card">
          <h1>{title}</h1>
          <p className="text-ink-2">{lead}</p>
          {children}
        </section>
      </main>
    </div>
  )
}
