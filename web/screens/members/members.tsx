import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invitation, Member, NewInvitation } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { invitationsQuery, membersQuery } from '../../api/queries.ts'
import { roleLabel } from '../../format/roles.ts'
import { dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { showToast } from '../../parts/toast.ts'
import type { MembersSearch } from '../../searches.ts'
import { ScreenTop, useScreenSearch } from '../../shell/account-screen.tsx'
import { useAccountId, useMe } from '../../shell/use-account.ts'
import { MadeLink } from './made-link.tsx'
import {
  BecomeMember,
  InviteMember,
  RemoveMember,
  RoleOptions,
  WithdrawInvitation,
} from './member-dialogs.tsx'
import { useMemberWrite } from './use-member-write.ts'

/** The members of an account and its invitations, for owners. */
export function MembersScreen() {
  const { search, change } = useScreenSearch<MembersSearch>()
  const setInviting = (isInviting: boolean) =>
    change(() => (isInviting ? { invite: true } : {}), { replace: true })
  // In the memory of this page alone, until it is left.
  const [made, setMade] = useState<NewInvitation | null>(null)
  return (
    <>
      <ScreenTop title="Members">
        <button type="button" className="btn pri" onClick={() => setInviting(true)}>
          <Icon name="plus" />
          Invite
        </button>
      </ScreenTop>
      {made !== null && made.url === undefined && (
        <p className="note pb-4" role="status">
          An invitation was sent to {made.email}. Its link works once, within 7 days.
        </p>
      )}
      {made?.url !== undefined && (
        <MadeLink email={made.email} url={made.url} onDone={() => setMade(null)} />
      )}
      <div className="grid gap-4">
        <MemberTable />
        <InvitationTable />
      </div>
      {search.invite === true && (
        <InviteMember
          onClose={() => setInviting(false)}
          onMade={(link) => {
            setMade(link)
            setInviting(false)
          }}
        />
      )}
    </>
  )
}

const MEMBER_HEADS = [
  { text: 'Member' },
  { text: 'Role' },
  { text: 'Joined' },
  { text: 'Remove', isHidden: true },
] as const

function MemberTable() {
  const query = useQuery(membersQuery(useAccountId()))
  const [removing, setRemoving] = useState<Member | null>(null)
  return (
    <ListCard
      label="Members"
      query={query}
      rows={query.data?.data}
      empty={
        <Empty title="No members yet.">
          <p>Invite people by email. They choose their own password.</p>
        </Empty>
      }
      heads={MEMBER_HEADS}
      greyRows={2}
      row={(member) => (
        <MemberRow key={member.user_id} member={member} onRemove={() => setRemoving(member)} />
      )}
    >
      {removing !== null && <RemoveMember member={removing} onClose={() => setRemoving(null)} />}
    </ListCard>
  )
}

function MemberRow({ member, onRemove }: { member: Member; onRemove: () => void }) {
  const { user } = useMe()
  const isSelf = member.user_id === user.id
  const [isAsking, setAsking] = useState(false)
  const send = (account_id: string, role: Member['role']) =>
    asMember('changeMember', { account_id, user_id: member.user_id, role })
  const back = useMemberWrite(send)
  const change = useMemberWrite(send, () =>
    showToast('Role changed.', () => back.mutateAsync(member.role)),
  )
  return (
    <tr>
      <td className="name">
        <b title={member.name}>{member.name}</b> {isSelf && <span className="dimmed">you</span>}
        <span className="two break-all">{member.email}</span>
      </td>
      <td className="wide">
        <select
          className="inp"
          aria-label={`Role of ${member.name}`}
          value={member.role}
          aria-disabled={change.isPending}
          onChange={({ target: { value } }) => {
            // An owner could not take it back: only another owner makes somebody an owner.
            if (isSelf && value === 'member' && !user.is_operator) setAsking(true)
            else change.mutate(value === 'owner' ? 'owner' : 'member')
          }}
        >
          <RoleOptions />
        </select>
        <Problem text={change.error?.message} />
        {isAsking && <BecomeMember userId={member.user_id} onClose={() => setAsking(false)} />}
      </td>
      <td className="text-ink-2">
        <span className="only-s dimmed">Joined </span>
        <Time at={member.joined_at} show={dayOf} />
      </td>
      <td className="num">
        {!isSelf && (
          <button
            type="button"
            className="btn"
            aria-label={`Remove ${member.name}`}
            onClick={onRemove}
          >
            Remove
          </button>
        )}
      </td>
    </tr>
  )
}

const INVITATION_HEADS = [
  { text: 'Invited' },
  { text: 'Role' },
  { text: 'Expires' },
  { text: 'Withdraw', isHidden: true },
] as const

function InvitationTable() {
  const query = useQuery(invitationsQuery(useAccountId()))
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null)
  return (
    <ListCard
      label="Open invitations"
      header={
        <header className="pb-2">
          <h2>Open invitations</h2>
        </header>
      }
      query={query}
      rows={query.data?.data}
      failed="The invitations could not be loaded."
      empty={<p className="note px-[18px] pb-4">No open invitations.</p>}
      heads={INVITATION_HEADS}
      greyRows={1}
      row={(invitation) => {
        return (
          <tr key={invitation.id}>
            <td className="break-all">{invitation.email}</td>
            <td className="end text-ink-2">
              {invitation.role !== null && roleLabel(invitation.role)}
            </td>
            <td className="text-ink-2">
              <span className="only-s dimmed">Expires </span>
              <Time at={invitation.expires_at} show={dayOf} />
            </td>
            <td className="num">
              <button
                type="button"
                className="btn"
                aria-label={`Withdraw the invitation for ${invitation.email}`}
                onClick={() => setWithdrawing(invitation)}
              >
                Withdraw
              </button>
            </td>
          </tr>
        )
      }}
    >
      {withdrawing !== null && (
        <WithdrawInvitation invitation={withdrawing} onClose={() => setWithdrawing(null)} />
      )}
    </ListCard>
  )
}
