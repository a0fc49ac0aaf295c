import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Member } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { invitationsQuery, membersQuery } from '../../api/queries.ts'
import { capitalized } from '../../format/capitalized.ts'
import { dayOf } from '../../format/time.ts'
import { AddButton, RowButton } from '../../parts/buttons.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { useFindRows } from '../../parts/find-rows.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { showToast } from '../../parts/toast.ts'
import { useMade } from '../../parts/use-made.ts'
import type { MembersSearch } from '../../searches.ts'
import { ScreenTop, useAccountCaller, useScreenSearch } from '../../shell/account-screen.tsx'
import { useAccountId, useMe } from '../../shell/use-account.ts'
import { ChangesByOperators } from './changes-by-operators.tsx'
import { InvitationTable, type Invited, MadeInvitations } from './invitations.tsx'
import { InviteMember, RoleOptions } from './member-dialogs.tsx'
import { MEMBER_READS, useMemberWrite } from './use-member-write.ts'

/** The members of an account, its invitations and the changes by operators, for owners. */
export function MembersScreen() {
  const { search, change } = useScreenSearch<MembersSearch>()
  const isCustomers = useAccountCaller() === 'member'
  const setInviting = (isInviting: boolean) =>
    // Back closes the form.
    change(() => (isInviting ? { invite: true } : {}), { replace: !isInviting })
  const made = useMade<Invited>()
  return (
    <>
      <ScreenTop title="Members">
        <AddButton onClick={() => setInviting(true)}>Invite</AddButton>
      </ScreenTop>
      <MadeInvitations made={made} />
      <div className="grid gap-4">
        <MemberTable />
        <AccountInvitations
          onWithdrawn={(email) => made.end((invited) => invited.email === email)}
        />
        {/* Operators have the whole audit log. */}
        {isCustomers && <ChangesByOperators />}
      </div>
      {search.invite === true && (
        <InviteMember
          onClose={() => setInviting(false)}
          onMade={({ email, url = null }) => {
            made.add({ email, url })
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

const MEMBER_FIND = {
  label: 'Name or email',
  noun: 'member',
  textOf: ({ name, email }: Member) => `${name} ${email}`,
}

function MemberTable() {
  const accountId = useAccountId()
  const query = useQuery(membersQuery(accountId))
  const [removing, setRemoving] = useState<Member | null>(null)
  const found = useFindRows(query.data?.data, MEMBER_FIND)
  return (
    <ListCard
      label="Members"
      className="people"
      header={found.header}
      query={query}
      rows={found.rows}
      empty={
        found.nothing ?? (
          <Empty title="No members yet.">
            <p>Invite people by email. They choose their own password.</p>
          </Empty>
        )
      }
      heads={MEMBER_HEADS}
      greyRows={2}
      row={(member) => (
        <MemberRow key={member.user_id} member={member} onRemove={() => setRemoving(member)} />
      )}
    >
      {removing !== null && (
        <Confirm
          title={`Remove ${removing.name}?`}
          submit="Remove"
          isDangerous
          send={() =>
            asMember('removeMember', { account_id: accountId, user_id: removing.user_id })
          }
          reads={MEMBER_READS}
          done="Member removed."
          onClose={() => setRemoving(null)}
        >
          <p>
            {removing.name} loses access to this account at once, until invited again. Keys that{' '}
            {removing.name} made belong to the account and keep working: disable or delete them
            under Keys.
          </p>
        </Confirm>
      )}
    </ListCard>
  )
}

function MemberRow({ member, onRemove }: { member: Member; onRemove: () => void }) {
  const { user } = useMe()
  const accountId = useAccountId()
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
          className="inp min-[641px]:w-auto"
          aria-label={`Role of ${member.name}`}
          value={member.role}
          aria-disabled={change.isPending}
          onChange={({ target: { value } }) => {
            // The owner could not undo it: only another owner can make a person an owner.
            if (isSelf && value === 'member' && !user.is_operator) setAsking(true)
            else change.mutate(value === 'owner' ? 'owner' : 'member')
          }}
        >
          <RoleOptions />
        </select>
        <Problem text={change.error?.message} />
        {isAsking && (
          <Confirm
            title="Stop being an owner?"
            submit="Become a member"
            isDangerous
            send={() => send(accountId, 'member')}
            reads={MEMBER_READS}
            done="Role changed."
            onClose={() => setAsking(false)}
          >
            <p>
              From then on, you can’t add credit or change members. Only another owner can make you
              an owner again.
            </p>
          </Confirm>
        )}
      </td>
      <td className="text-ink-2 self-center">
        <span className="only-s dimmed">Joined </span>
        <Time at={member.joined_at} show={dayOf} />
      </td>
      <td className="num">
        {!isSelf && <RowButton text="Remove" of={member.name} onClick={onRemove} />}
      </td>
    </tr>
  )
}

function AccountInvitations({ onWithdrawn }: { onWithdrawn: (email: string) => void }) {
  const accountId = useAccountId()
  const query = useQuery(invitationsQuery(accountId))
  return (
    <InvitationTable
      query={query}
      column={{
        text: 'Role',
        isHiddenOnPhones: false,
        show: ({ role }) => role !== null && capitalized(role),
      }}
      withdraw={(invitation_id) =>
        asMember('withdrawInvitation', { account_id: accountId, invitation_id })
      }
      reads={MEMBER_READS}
      onWithdrawn={onWithdrawn}
    />
  )
}
