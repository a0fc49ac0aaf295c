import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { asOperator } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { InvitedEmail } from '../../parts/invited-email.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { useOperatorWrite } from './use-operator-write.ts'

/** An operator who was just invited. */
export interface Invited {
  readonly email: string
  /** The link; null: the gateway has emailed it. */
  readonly url: string | null
}

interface InviteOperatorProps {
  readonly onClose: () => void
  readonly onMade: (invited: Invited) => void
}

/** The form for the invitation of an operator. */
export function InviteOperator({ onClose, onMade }: InviteOperatorProps) {
  const { data: start } = useQuery(startQuery)
  const isMailed = start?.mail === true
  const invite = useOperatorWrite(
    (email: string) => asOperator('createInvitation', { email, operator: true, mail: isMailed }),
    ({ email, url }) => onMade({ email, url: isMailed ? null : url }),
  )
  const refusal = refusalOf(invite.error, ['email'])
  return (
    <FormDialog
      title="Invite an operator"
      submit="Invite"
      write={invite}
      problem={refusal.rest}
      isReady={start !== undefined}
      onSubmit={(fields) => invite.mutate(String(fields.get('email')))}
      onClose={onClose}
    >
      <p>
        An operator can do everything: see all accounts, add and remove credit, change fees and
        limits, and invite and remove operators, including you.
      </p>
      <InvitedEmail isMailed={isMailed} error={refusal.at('email')} />
    </FormDialog>
  )
}

interface RemoveOperatorProps {
  readonly email: string
  readonly title: string
  readonly submit: string
  /** Says what was done: "Operator removed." */
  readonly done: string
  /** Default: nothing. */
  readonly onRemoved?: () => void
  readonly onClose: () => void
  /** The consequences. */
  readonly children: ReactNode
}

/** Ends the role of an operator, and the open invitations to it. */
export function RemoveOperator({
  email,
  children,
  done,
  onRemoved,
  onClose,
  ...words
}: RemoveOperatorProps) {
  const remove = useOperatorWrite(
    (operatorEmail: string) => asOperator('removeUser', { email: operatorEmail, operator: true }),
    () => {
      onClose()
      onRemoved?.()
      showToast(done)
    },
  )
  return (
    <FormDialog
      {...words}
      isDangerous
      write={remove}
      onSubmit={() => remove.mutate(email)}
      onClose={onClose}
    >
      <p>{children}</p>
    </FormDialog>
  )
}
