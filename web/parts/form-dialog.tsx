import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

interface DialogFormProps {
  /** Its fields, or the consequences. */
  readonly children: ReactNode
  /** The change that it sends. Default: it sends nothing. */
  readonly write?: { readonly error: Error | null; readonly isPending: boolean }
  /** A problem that belongs to no single field; null: none. Default: the refusal of the change. */
  readonly problem?: string | null
  /** The words of the button that sends it. */
  readonly submit: ReactNode
  /** The words of the button that leaves it. Default: Cancel. */
  readonly cancel?: string
  /** Default: it does something that can be undone. */
  readonly isDangerous?: boolean
  /** Whether it can be sent yet. Default: it can. */
  readonly isReady?: boolean
  readonly onSubmit: (fields: FormData) => void
  readonly onClose: () => void
}

const NOTHING = { error: null, isPending: false }

/** A form in a dialog: its fields, its problem, and the buttons that leave it and send it. */
export function DialogForm(props: DialogFormProps) {
  const { write = NOTHING, isDangerous = false, isReady = true, cancel = 'Cancel' } = props
  const { problem = write.error?.message ?? null, onSubmit } = props
  const ref = useRef<HTMLFormElement>(null)
  const aboutId = useId()
  // The words of a question are read out with its title; of a form, its fields are read one by one.
  useEffect(() => {
    const isQuestion = ref.current?.querySelector('input, select, textarea') === null
    if (isQuestion) ref.current?.closest('dialog')?.setAttribute('aria-describedby', aboutId)
  }, [aboutId])
  const focusFault = () => ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  // biome-ignore lint/correctness/useExhaustiveDependencies: at each refusal, whose field may be out of sight
  useEffect(focusFault, [write.error])
  return (
    <form
      ref={ref}
      className="contents"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onSubmit(new FormData(event.currentTarget))
        focusFault()
      }}
    >
      <div id={aboutId} className="contents">
        {props.children}
      </div>
      <Problem text={problem} />
      <footer>
        <button type="button" className="btn ghost" onClick={props.onClose}>
          {cancel}
        </button>
        <button
          type="submit"
          className={isDangerous ? 'btn danger' : 'btn pri'}
          disabled={!isReady}
          // Disabled, it would lose the focus, which a person needs there to try again after a failure.
          aria-disabled={write.isPending}
        >
          {props.submit}
        </button>
      </footer>
    </form>
  )
}

/** A dialog that is one form: it asks for fields, or says what will happen. */
export function FormDialog({ title, ...form }: DialogFormProps & { readonly title: string }) {
  return (
    <Dialog title={title} keepsTyped={form.isDangerous !== true} onClose={form.onClose}>
      <DialogForm {...form} />
    </Dialog>
  )
}
