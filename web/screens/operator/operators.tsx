import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type OperatorInvitation,
  operatorInvitationsQuery,
  usersQuery,
} from '../../api/operator.ts'
import { dayOf } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { Time } from '../../parts/time.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useMe } from '../../shell/use-account.ts'
import { MadeLink } from '../members/made-link.tsx'
import { type Invited, InviteOperator, RemoveOperator } from './operator-dialogs.tsx'

/** The operators of the gateway: inviting and removing them. */
export function OperatorsScreen() {
  const [isInviting, setInviting] = useState(false)
  // In the memory of this page alone, until it is left.
  const [made, setMade] = useState<Invited | null>(null)
  return (
    <>
      <ScreenTop title="Operators">
        <button type="button" className="btn pri" onClick={() => setInviting(true)}>
          <Icon name="plus" />
          Invite an operator
        </button>
      </ScreenTop>
      {made?.isMailed === true && (
        <p className="note pb-4" role="status">
          An invitation was sent to {made.email}. Its link works once, within 7 days.
        </p>
      )}
      {made?.isMailed === false && (
        <MadeLink email={made.email} url={made.url} onDone={() => setMade(null)} />
      )}
      <div className="grid gap-4">
        <OperatorTable />
        <InvitationTable />
      </div>
      {isInviting && (
        <InviteOperator
          onClose={() => setInviting(false)}
          onMade={(invited) => {
            setMade(invited)
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
              {hasFactor ? 'Set up' : 'None'}
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
      {removing !== null && (
        <RemoveOperator
          email={removing.email}
          title={`Remove ${removing.name} as an operator?`}
          submit="Remove operator"
          onClose={() => setRemoving(null)}
        >
          {removing.name} can no longer open the pages of operators. The person stays a user, and a
          member of accounts. Invitations that {removing.name} sent as an operator no longer work.
        </RemoveOperator>
      )}
    </ListCard>
  )
}

interface RemoveTarget {
  readonly email: string
  readonly name: string
}

const INVITATION_HEADS = [
  { text: 'Invited' },
  { text: 'Sent' },
  { text: 'Expires' },
  { text: 'Withdraw', isHidden: true },
] as const

function InvitationTable() {
  const query = useQuery(operatorInvitationsQuery)
  const [withdrawing, setWithdrawing] = useState<OperatorInvitation | null>(null)
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
      row={(invitation) => (
        <tr key={invitation.id}>
          <td className="break-all">{invitation.email}</td>
          <td className="text-ink-2 hide-s">
            <Time at={invitation.created_at} show={dayOf} />
          </td>
          <td className="text-ink-2">
            <span className="only-s dimmed">Expires </span>
            <Time at={invitation.expires_at} show={dayOf} />
          </td>
          <td className="num wide">
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
      )}
    >
      {withdrawing !== null && (
        <RemoveOperator
          email={withdrawing.email}
          title={`Withdraw the invitation for ${withdrawing.email}?`}
          submit="Withdraw"
          onClose={() => setWithdrawing(null)}
        >
          The invitation link no longer works. If the person is an operator already, the role ends
          too.
        </RemoveOperator>
      )}
    </ListCard>
  )
}
