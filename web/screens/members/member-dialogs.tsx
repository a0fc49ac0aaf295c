import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Invitation, Member, NewInvitation } from '../../api/answers.ts'
import { asMember, type Input } from '../../api/calls.ts'
import { invitationsQuery, membersQuery, startQuery } from '../../api/queries.ts'
import { roleLabel } from '../../format/roles.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { InvitedEmail } from '../../parts/invited-email.tsx'
import { refusalOf } from '../../parts/refusal.ts'
import { showToast } from '../../parts/toast.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { useMemberWrite } from './use-member-write.ts'

const ROLES = {
  member: 'Sees the account, and creates and changes its keys.',
  owner: 'Also adds credit, and invites and removes members.',
} as const

type Role = keyof typeof ROLES

/** The roles to choose from. */
export function RoleOptions() {
  return Object.keys(ROLES).map((role) => (
    <option key={role} value={role}>
      {roleLabel(role)}
    </option>
  ))
}

interface InviteProps {
  readonly onClose: () => void
  readonly onMade: (made: NewInvitation) => void
}

/** The form for a new invitation. */
export function InviteMember({ onClose, onMade }: InviteProps) {
  const { data: start } = useQuery(startQuery)
  const account = useAccountId()
  const members = useQuery(membersQuery(account))
  const invitations = useQuery(invitationsQuery(account))
  const isRead = !members.isPending && !invitations.isPending
  const [picked, setPicked] = useState<Role | null>(null)
  // Members can't add credit, or invite others.
  const needsOwner =
    members.data?.data.length === 0 && invitations.data?.data.every(({ role }) => role !== 'owner')
  const role = picked ?? (needsOwner ? 'owner' : 'member')
  const roleId = useId()
  const invite = useMemberWrite(
    (account_id, fields: Omit<Input<'inviteMember', 'member'>, 'account_id'>) =>
      asMember('inviteMember', { account_id, ...fields }),
    onMade,
  )
  const refusal = refusalOf(invite.error, ['email'])
  return (
    <FormDialog
      title="Invite a person"
      submit="Invite"
      write={invite}
      problem={refusal.rest}
      isReady={start !== undefined && isRead}
      onSubmit={(fields) => invite.mutate({ email: String(fields.get('email')), role })}
      onClose={onClose}
    >
      <InvitedEmail isMailed={start?.mail === true} error={refusal.at('email')} />
      {isRead && (
        <div className="fld">
          <label htmlFor={roleId}>Role</label>
          <select
            id={roleId}
            className="inp"
            aria-describedby={`${roleId}-hint`}
            value={role}
            onChange={({ target: { value } }) => setPicked(value === 'owner' ? 'owner' : 'member')}
          >
            <RoleOptions />
          </select>
          <small id={`${roleId}-hint`}>{ROLES[role]}</small>
        </div>
      )}
    </FormDialog>
  )
}

interface BecomeMemberProps {
  /** The user's own ID. */
  readonly userId: string
  readonly onClose: () => void
}

/** Gives up the role of an owner. */
export function BecomeMember({ userId, onClose }: BecomeMemberProps) {
  const change = useMemberWrite(
    (account_id) => asMember('changeMember', { account_id, user_id: userId, role: 'member' }),
    () => {
      onClose()
      showToast('Role changed.')
    },
  )
  return (
    <FormDialog
      title="Stop being an owner?"
      submit="Become a member"
      isDangerous
      write={change}
      onSubmit={() => change.mutate(undefined)}
      onClose={onClose}
    >
      <p>
        From then on, you can’t add credit or change members. Only another owner can make you an
        owner again.
      </p>
    </FormDialog>
  )
}

/** Ends the membership of another person. */
export function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const remove = useMemberWrite(
    (account_id) => asMember('removeMember', { account_id, user_id: member.user_id }),
    () => {
      onClose()
      showToast('Member removed.')
    },
  )
  return (
    <FormDialog
      title={`Remove ${member.name}?`}
      submit="Remove"
      isDangerous
      write={remove}
      onSubmit={() => remove.mutate(undefined)}
      onClose={onClose}
    >
      <p>
        {member.name} loses access to this account at once, until invited again. Keys that{' '}
        {member.name} made belong to the account and keep working: disable or delete them under
        Keys.
      </p>
    </FormDialog>
  )
}

interface WithdrawProps {
  readonly invitation: Invitation
  readonly onWithdrawn: (email: string) => void
  readonly onClose: () => void
}

/** Ends an invitation. */
export function WithdrawInvitation({ invitation, onWithdrawn, onClose }: WithdrawProps) {
  const withdraw = useMemberWrite(
    (account_id) => asMember('withdrawInvitation', { account_id, invitation_id: invitation.id }),
    () => {
      onClose()
      onWithdrawn(invitation.email)
      showToast('Invitation withdrawn.')
    },
  )
  return (
    <FormDialog
      title={`Withdraw the invitation for ${invitation.email}?`}
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
