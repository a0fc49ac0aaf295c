import { type ReactNode, useEffect } from 'react'
import { Brand } from '../../parts/icon.tsx'

interface DoorProps {
  readonly title: string
  readonly lead: ReactNode
  readonly children?: ReactNode
}

/** A page before the sign-in: one card in the middle. */
export function Door({ title, lead, children }: DoorProps) {
  useEffect(() => {
    document.title = `${title} · tollgate`
  }, [title])
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
