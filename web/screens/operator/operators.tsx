import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { operatorInvitationsQuery, usersQuery } from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Time } from '../../parts/time.tsx'
import { useMade } from '../../parts/use-made.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useMe } from '../../shell/use-account.ts'
import { InvitationTable, type Invited, MadeInvitations } from '../members/invitations.tsx'
import { InviteOperator, RemoveOperator, WithdrawOperatorInvitation } from './operator-dialogs.tsx'

/** The operators of the gateway: inviting and removing them. */
export function OperatorsScreen() {
  const [isInviting, setInviting] = useState(false)
  const made = useMade<Invited>()
  return (
    <>
      <ScreenTop title="Operators">
        <button type="button" className="btn pri" onClick={() => setInviting(true)}>
          <Icon name="plus" />
          Invite an operator
        </button>
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
  const [removing, setRemoving] = useState<RemoveTarget | null>(null)
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
              <button
                type="button"
                className="btn"
                aria-label={`Remove ${name}`}
                onClick={() => setRemoving({ email, name })}
              >
                Remove
              </button>
            )}
          </td>
        </tr>
      )}
    >
      {removing !== null && <RemoveOperator {...removing} onClose={() => setRemoving(null)} />}
    </ListCard>
  )
}

interface RemoveTarget {
  readonly email: string
  readonly name: string
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
      withdraw={(invitation, onClose) => (
        <WithdrawOperatorInvitation
          invitation={invitation}
          onWithdrawn={onWithdrawn}
          onClose={onClose}
        />
      )}
    />
  )
}
