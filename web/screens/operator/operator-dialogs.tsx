import { useQuery } from '@tanstack/react-query'
import { asOperator } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { InvitedEmail } from '../../parts/invited-email.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import type { Invited } from '../members/invitations.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

interface InviteOperatorProps {
  readonly onClose: () => void
  readonly onMade: (invited: Invited) => void
}

/** The form for the invitation of an operator. */
export function InviteOperator({ onClose, onMade }: InviteOperatorProps) {
  const start = useQuery(startQuery)
  const isMailed = start.data?.mail === true
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
      isReady={start.data !== undefined}
      onSubmit={(fields) => invite.mutate(String(fields.get('email')))}
      onClose={onClose}
    >
      <p>
        An operator can do everything: see all accounts, add and remove credit, change fees and
        limits, and invite and remove operators, including you.
      </p>
      <InvitedEmail start={start} error={refusal.at('email')} />
    </FormDialog>
  )
}
