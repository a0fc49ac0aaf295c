import { useQuery } from '@tanstack/react-query'
import type { Invitation } from '../../api/answers.ts'
import { asOperator } from '../../api/calls.ts'
import { startQuery } from '../../api/queries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { InvitedEmail } from '../../parts/invited-email.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import type { Invited } from '../members/invitations.tsx'
import { useOperatorWrite } from './use-operator-write.ts'

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
  readonly name: string
  readonly onClose: () => void
}

/** Ends the role of an operator, and the open invitations to it. */
export function RemoveOperator({ email, name, onClose }: RemoveOperatorProps) {
  const remove = useOperatorWrite(
    () => asOperator('removeUser', { email, operator: true }),
    () => {
      onClose()
      showToast('Operator removed.')
    },
  )
  return (
    <FormDialog
      title={`Remove ${name} as an operator?`}
      submit="Remove operator"
      isDangerous
      write={remove}
      onSubmit={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      <p>
        {name} can no longer open the pages of operators. The person stays a user, and a member of
        accounts. Invitations that {name} sent as an operator no longer work.
      </p>
    </FormDialog>
  )
}

interface WithdrawOperatorInvitationProps {
  readonly invitation: Pick<Invitation, 'id' | 'email'>
  readonly onWithdrawn: (email: string) => void
  readonly onClose: () => void
}

/** Ends an invitation of an operator. */
export function WithdrawOperatorInvitation({
  invitation: { id, email },
  onWithdrawn,
  onClose,
}: WithdrawOperatorInvitationProps) {
  const withdraw = useOperatorWrite(
    () => asOperator('withdrawInvitation', { invitation_id: id }),
    () => {
      onClose()
      onWithdrawn(email)
      showToast('Invitation withdrawn.')
    },
  )
  return (
    <FormDialog
      title={`Withdraw the invitation for ${email}?`}
      submit="Withdraw"
      isDangerous
      write={withdraw}
      onSubmit={() => withdraw.mutate(undefined)}
      onClose={onClose}
    >
      <p>The invitation link no longer works.</p>
    </FormDialog>
  )
}
