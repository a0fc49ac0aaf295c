import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { NewInvitation } from '../../api/answers.ts'
import { asMember, type Input } from '../../api/calls.ts'
import { invitationsQuery, membersQuery, startQuery } from '../../api/queries.ts'
import { capitalized } from '../../format/capitalized.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { InvitedEmail } from '../../parts/invited-email.tsx'
import { refusalOf } from '../../parts/refusal.ts'
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
      {capitalized(role)}
    </option>
  ))
}

interface InviteProps {
  readonly onClose: () => void
  readonly onMade: (made: NewInvitation) => void
}

/** The form for a new invitation. */
export function InviteMember({ onClose, onMade }: InviteProps) {
  const start = useQuery(startQuery)
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
      isReady={start.data !== undefined && isRead}
      onSubmit={(fields) => invite.mutate({ email: String(fields.get('email')), role })}
      onClose={onClose}
    >
      <InvitedEmail start={start} error={refusal.at('email')} />
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
