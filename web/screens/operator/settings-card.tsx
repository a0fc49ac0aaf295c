import { useBlocker } from '@tanstack/react-router'
import { createContext, type FormEvent, type ReactNode, use, useEffect, useState } from 'react'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Problem } from '../../parts/problem.tsx'

/** The titles of the cards with unsaved texts. */
const UnsavedTitles = createContext<Set<string>>(new Set())

/** The cards of a screen of settings. Another page is opened only after a question while one of them is not saved. */
export function SettingsCards({ children }: { readonly children: ReactNode }) {
  const [titles] = useState(() => new Set<string>())
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => titles.size > 0 && current.pathname !== next.pathname,
    enableBeforeUnload: () => titles.size > 0,
    withResolver: true,
  })
  return (
    <UnsavedTitles value={titles}>
      <div className="stack">{children}</div>
      {leaving.status === 'blocked' && (
        <FormDialog
          title="Leave without saving?"
          submit="Leave"
          cancel="Stay"
          isDangerous
          onSubmit={leaving.proceed}
          onClose={leaving.reset}
        >
          <p>Not saved: {[...titles].join('; ')}.</p>
        </FormDialog>
      )}
    </UnsavedTitles>
  )
}

interface SettingsCardProps {
  readonly title: string
  readonly note: string
  readonly isSaving: boolean
  /** Whether there is something to save. */
  readonly isChanged: boolean
  /** A refusal that belongs to no single field; null: none. */
  readonly problem: string | null
  /** Nothing is sent where a field is wrong. */
  readonly onSave: () => void
  readonly children: ReactNode
}

/** Settings that are saved together. */
export function SettingsCard(props: SettingsCardProps) {
  const { title, note, isSaving, isChanged, problem, onSave, children } = props
  const unsaved = use(UnsavedTitles)
  useEffect(() => {
    if (!isChanged) return
    unsaved.add(title)
    return () => void unsaved.delete(title)
  }, [unsaved, title, isChanged])
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isChanged) onSave()
  }
  return (
    <section className="card" aria-label={title}>
      <form className="setting" onSubmit={send}>
        <header>
          <h2>{title}</h2>
          <p className="note">{note}</p>
        </header>
        <div>
          {children}
          <Problem text={problem} />
          <footer>
            {isChanged && <span className="chip wait">Not saved</span>}
            <button
              type="submit"
              className="btn pri"
              aria-label={`Save ${title.toLowerCase()}`}
              aria-disabled={isSaving || !isChanged}
            >
              Save
            </button>
          </footer>
        </div>
      </form>
    </section>
  )
}
