import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Me } from '../../api/answers.ts'
import { asMember } from '../../api/calls.ts'
import { useSend } from '../../api/use-write.ts'
import { capitalized } from '../../format/capitalized.ts'
import { RowButton } from '../../parts/buttons.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Heads } from '../../parts/list-card.tsx'
import { ContactLink } from '../../parts/service-name.tsx'
import { useMe } from '../../shell/use-account.ts'

const ACCOUNT_HEADS = [
  { text: 'Account' },
  { text: 'Role' },
  { text: 'Leave', isHidden: true },
] as const

/** The accounts of the user, each to be left. */
export function OwnAccounts() {
  const { accounts } = useMe()
  const [leaving, setLeaving] = useState<Me['accounts'][number] | null>(null)
  if (accounts.length === 0) return null
  return (
    <section className="card overflow-hidden" aria-label="Accounts">
      <header className="pb-2">
        <h2>Accounts</h2>
      </header>
      <table className="cards" aria-label="Accounts">
        <Heads heads={ACCOUNT_HEADS} />
        <tbody>
          {accounts.map((account) => (
            <tr key={account.id}>
              <td className="name">
                <Link
                  className="hover:underline"
                  to="/$account/overview"
                  params={{ account: account.id }}
                >
                  <b title={account.name}>{account.name}</b>
                </Link>
              </td>
              <td className="text-ink-2">{capitalized(account.role)}</td>
              <td className="num wide">
                <RowButton text="Leave" of={account.name} onClick={() => setLeaving(account)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="note px-[18px] py-3.5">
        To change the name of an account, or to delete a user or an account,{' '}
        <ContactLink>ask the operator</ContactLink>.
      </p>
      {leaving !== null && <LeaveAccount account={leaving} onClose={() => setLeaving(null)} />}
    </section>
  )
}

interface LeaveProps {
  readonly account: Me['accounts'][number]
  readonly onClose: () => void
}

function LeaveAccount({ account, onClose }: LeaveProps) {
  const leave = useSend({
    mutationFn: () => asMember('leaveAccount', { account_id: account.id }),
    // The pages that are open may be of this account.
    onSuccess: () => location.assign('/app/'),
  })
  return (
    <FormDialog
      title={`Leave “${account.name}”?`}
      submit="Leave"
      isDangerous
      write={leave}
      onSubmit={() => leave.mutate()}
      onClose={onClose}
    >
      <p>
        You lose access to this account at once, until you are invited again. Keys belong to the
        account and keep working.
      </p>
    </FormDialog>
  )
}
