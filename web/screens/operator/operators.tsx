import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { asOperator } from '../../api/calls.ts'
import { operatorInvitationsQuery, usersQuery } from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { AddButton, RowButton } from '../../parts/buttons.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Time } from '../../parts/time.tsx'
import { useMade } from '../../parts/use-made.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useMe } from '../../shell/use-account.ts'
import { InvitationTable, type Invited, MadeInvitations } from '../members/invitations.tsx'
import { InviteOperator } from './operator-dialogs.tsx'
import { OPERATOR_READS } from './use-operator-write.ts'

/** The operators of the gateway: inviting and removing them. */
export function OperatorsScreen() {
  const [isInviting, setInviting] = useState(false)
  const made = useMade<Invited>()
  return (
    <>
      <ScreenTop title="Operators">
        <AddButton onClick={() => setInviting(true)}>Invite an operator</AddButton>
      </ScreenTop>
      <MadeInvitations made={made} />
      <div className="grid gap-4">
        <OperatorTable />
        <OperatorInvitations
          onWithdrawn={(email) => made.end((invited) => invited.email === email)}
        />
      </div>
      {isInviting && (
        <InviteOperator
          onClose={() => setInviting(false)}
          onMade={(invited) => {
            made.add(invited)
            setInviting(false)
          }}
        />
      )}
    </>
  )
}

const HEADS = [
  { text: 'Operator' },
  { text: 'Second factor' },
  { text: 'User since' },
  { text: 'Remove', isHidden: true },
] as const

function OperatorTable() {
  const { user } = useMe()
  const query = useQuery(usersQuery)
  const [removing, setRemoving] = useState<{ email: string; name: string } | null>(null)
  return (
    <ListCard
      label="Operators"
      className="people"
      query={query}
      rows={query.data?.data.filter(({ is_operator: isOperator }) => isOperator)}
      empty={null}
      heads={HEADS}
      greyRows={2}
      row={({ id, name, email, has_second_factor: hasFactor, created_at: createdAt }) => (
        <tr key={id}>
          <td className="name">
            <b title={name}>{name}</b> {id === user.id && <span className="dimmed">you</span>}
            <span className="two break-all">{email}</span>
          </td>
          <td className="end">
            <span className={`chip ${hasFactor ? 'good' : 'off'}`}>
              <span className="hide-s">{hasFactor ? 'Set up' : 'None'}</span>
              <span className="only-s">{hasFactor ? 'Second factor' : 'No second factor'}</span>
            </span>
          </td>
          <td className="text-ink-2">
            <span className="only-s dimmed">User since </span>
            <Time at={createdAt} show={dayOf} />
          </td>
          <td className="num">
            {id !== user.id && (
              <RowButton text="Remove" of={name} onClick={() => setRemoving({ email, name })} />
            )}
          </td>
        </tr>
      )}
    >
      {removing !== null && (
        <Confirm
          title={`Remove ${removing.name} as an operator?`}
          submit="Remove operator"
          isDangerous
          send={() => asOperator('removeUser', { email: removing.email, operator: true })}
          reads={OPERATOR_READS}
          done="Operator removed."
          onClose={() => setRemoving(null)}
        >
          <p>
            {removing.name} can no longer open the pages of operators. The person stays a user, and
            a member of accounts. Invitations that {removing.name} sent as an operator no longer
            work.
          </p>
        </Confirm>
      )}
    </ListCard>
  )
}

function OperatorInvitations({ onWithdrawn }: { onWithdrawn: (email: string) => void }) {
  const query = useQuery(operatorInvitationsQuery)
  return (
    <InvitationTable
      query={query}
      column={{
        text: 'Sent',
        isHiddenOnPhones: true,
        show: ({ created_at: createdAt }) => <Time at={createdAt} show={dayOf} />,
      }}
      withdraw={(invitation_id) => asOperator('withdrawInvitation', { invitation_id })}
      reads={OPERATOR_READS}
      onWithdrawn={onWithdrawn}
    />
  )
}
