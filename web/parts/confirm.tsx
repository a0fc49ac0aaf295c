import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useWrite } from '../api/use-write.ts'
import { FormDialog } from './form-dialog.tsx'
import { showToast } from './toast.ts'

interface ConfirmProps {
  readonly title: string
  readonly submit: string
  /** Default: it does something that can be undone. */
  readonly isDangerous?: boolean
  readonly send: () => Promise<unknown>
  /** The data that are read again afterwards. */
  readonly reads: readonly QueryKey[]
  /** Said once it is done: "Code revoked." */
  readonly done: string
  /** Called once it is done. Default: nothing. */
  readonly onDone?: () => void
  readonly onClose: () => void
  /** The consequences. */
  readonly children: ReactNode
}

/** Asks before a change that needs no fields. */
export function Confirm({ send, reads, done, onDone, ...form }: ConfirmProps) {
  const write = useWrite(send, {
    reads,
    onDone() {
      form.onClose()
      onDone?.()
      showToast(done)
    },
  })
  return <FormDialog {...form} write={write} onSubmit={() => write.mutate(undefined)} />
}
