import type { QueryKey, UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Invitation } from '../../api/answers.ts'
import { dayOf } from '../../format/time.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { useFindRows } from '../../parts/find-rows.tsx'
import { type Head, ListCard } from '../../parts/list-card.tsx'
import { MadeSecret } from '../../parts/made-secret.tsx'
import { Time } from '../../parts/time.tsx'
import type { Made } from '../../parts/use-made.ts'
import { useMe } from '../../shell/use-account.ts'

interface InvitationTableProps {
  readonly query: UseQueryResult<{ readonly data: readonly Invitation[] }>
  /** The column between the email address and the expiry. */
  readonly column: {
    readonly text: string
    readonly isHiddenOnPhones: boolean
    readonly show: (invitation: Invitation) => ReactNode
  }
  /** Ends an invitation. */
  readonly withdraw: (invitationId: string) => Promise<unknown>
  /** The data that are read again afterwards. */
  readonly reads: readonly QueryKey[]
  readonly onWithdrawn: (email: string) => void
}

const INVITATION_FIND = {
  label: 'Email of an invited person',
  noun: 'invitation',
  textOf: ({ email }: Invitation) => email,
}

/** The open invitations to an account, or to become an operator. */
export function InvitationTable(props: InvitationTableProps) {
  const { query, column, withdraw, reads, onWithdrawn } = props
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null)
  const { text, isHiddenOnPhones, show } = column
  const found = useFindRows(query.data?.data, INVITATION_FIND)
  const heads: readonly Head[] = [
    { text: 'Invited' },
    { text },
    { text: 'Expires' },
    { text: 'Withdraw', isHidden: true },
  ]
  return (
    <ListCard
      label="Open invitations"
      className="people"
      header={
        <>
          <header className="pb-2">
            <h2>Open invitations</h2>
          </header>
          {found.header}
        </>
      }
      query={query}
      rows={found.rows}
      failed="The invitations could not be loaded."
      empty={found.nothing ?? <p className="note px-[18px] pb-4">No open invitations.</p>}
      heads={heads}
      greyRows={1}
      row={(invitation) => (
        <tr key={invitation.id}>
          <td className="break-all">{invitation.email}</td>
          <td className={`text-ink-2 ${isHiddenOnPhones ? 'hide-s' : 'end'}`}>
            {show(invitation)}
          </td>
          <td className="text-ink-2 self-center">
            <span className="only-s dimmed">Expires </span>
            <Time at={invitation.expires_at} show={dayOf} />
          </td>
          <td className={isHiddenOnPhones ? 'num wide' : 'num'}>
            <RowButton
              text="Withdraw"
              of={`the invitation for ${invitation.email}`}
              onClick={() => setWithdrawing(invitation)}
            />
          </td>
        </tr>
      )}
    >
      {withdrawing !== null && (
        <Confirm
          title={`Withdraw the invitation for ${withdrawing.email}?`}
          submit="Withdraw"
          isDangerous
          send={() => withdraw(withdrawing.id)}
          reads={reads}
          done="Invitation withdrawn."
          onDone={() => onWithdrawn(withdrawing.email)}
          onClose={() => setWithdrawing(null)}
        >
          <p>The invitation link no longer works.</p>
        </Confirm>
      )}
    </ListCard>
  )
}

/** A person who was just invited. */
export interface Invited {
  readonly email: string
  /** The link to send; null: it was sent by email. */
  readonly url: string | null
}

/** Invitations that were just made: that the newest was sent, and the links for the person who invites to send. */
export function MadeInvitations({ made }: { made: Made<Invited> }) {
  return made.things
    .filter(({ url }, at) => url !== null || at === 0)
    .map((invited) => (
      <MadeInvitation
        key={invited.url ?? invited.email}
        {...invited}
        onDone={() => made.end((one) => one === invited)}
      />
    ))
}

interface MadeInvitationProps extends Invited {
  readonly onDone: () => void
}

function MadeInvitation({ email, url, onDone }: MadeInvitationProps) {
  const { user } = useMe()
  if (url === null) {
    return (
      <p className="note pb-4" role="status">
        An invitation was sent to {email}. Its link works once, within 7 days.
      </p>
    )
  }
  return (
    <MadeSecret
      title={`An invitation for ${email} is ready`}
      text={linkHere(url)}
      noun="link"
      words={linkWords(email, { url, isOperator: user.is_operator })}
      onDone={onDone}
    />
  )
}

// Without a public address, the gateway's own links have a name of its machine.
function isLocal(url: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)
}

/** The link, at the address of this page if the gateway has no public one: a forwarded port has another number here. */
function linkHere(url: string): string {
  const { pathname, hash } = new URL(url)
  return isLocal(url) ? `${location.origin}${pathname}${hash}` : url
}

/** By position: the invited person's email address, and the link, with whether the reader can change the settings. */
function linkWords(
  email: string,
  { url, isOperator }: { readonly url: string; readonly isOperator: boolean },
): string {
  const advice = isOperator ? ': set TOLLGATE_PUBLIC_URL' : ''
  const reach = isLocal(url) ? ` It works only on this machine${advice}.` : ''
  return `Send this link to ${email}. It is shown only once.${reach}`
}
