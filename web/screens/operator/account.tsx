import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Account } from '../../api/answers.ts'
import { accountKeysQuery, oneAccountQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { dayOf } from '../../format/time.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useNow } from '../../parts/now.ts'
import { Failed, Grey, Stale } from '../../parts/states.tsx'
import { AllowanceLine, MetadataLine, OnlyModels } from '../../parts/terms-lines.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { RenameAccount, SuspendAccount } from './account-dialogs.tsx'
import { AccountEntries, AccountKeys, AccountMembers, AccountRequests } from './account-lists.tsx'
import { AccountLog } from './account-log.tsx'
import { MoveCredit } from './move-credit.tsx'

const route = getRouteApi('/operator/accounts/$id')

/** One account, for operators: its money, keys, requests and entries, and what may be done with it. */
export function OneAccountScreen() {
  const { id } = route.useParams()
  const query = useQuery(oneAccountQuery(id))
  useTitle(query.data?.name ?? 'Account')
  if (query.data === undefined && query.isError) {
    return (
      <>
        <Head account={undefined} />
        <section className="card">
          <Failed
            what="The account could not be loaded."
            error={query.error}
            onRetry={() => query.refetch()}
          />
        </section>
      </>
    )
  }
  return (
    <>
      <Head account={query.data} />
      <section className="card mb-4 overflow-hidden" aria-label="Credit">
        <Stale query={query} />
        {query.data === undefined ? (
          <div className="p-5">
            <Grey width="60%" height={60} />
          </div>
        ) : (
          <Purses account={query.data} />
        )}
      </section>
      <div className="grid gap-4">
        <AccountKeys accountId={id} />
        <AccountRequests accountId={id} />
        <AccountEntries accountId={id} />
        <AccountMembers accountId={id} />
        <AccountLog accountId={id} />
      </div>
    </>
  )
}

type Opened = 'add' | 'take' | 'suspend' | 'rename' | null

function Head({ account }: { account: Account | undefined }) {
  const [opened, setOpened] = useState<Opened>(null)
  const close = () => setOpened(null)
  return (
    <>
      <p className="mb-1">
        <Link className="text-ink-2 hover:underline" to="/operator/accounts">
          Accounts
        </Link>
      </p>
      <div className="top flex-wrap">
        <h1 className="max-[1120px]:basis-full">{account?.name ?? 'Account'}</h1>
        {account !== undefined && (
          <>
            <Link className="btn" to="/$account/overview" params={{ account: account.id }}>
              <Icon name="eye" />
              View as member
            </Link>
            <button type="button" className="btn" onClick={() => setOpened('rename')}>
              Change
            </button>
            <button type="button" className="btn" onClick={() => setOpened('suspend')}>
              {account.disabled ? 'Resume account' : 'Suspend'}
            </button>
            <button type="button" className="btn" onClick={() => setOpened('take')}>
              Remove
            </button>
            <button type="button" className="btn pri" onClick={() => setOpened('add')}>
              <Icon name="plus" />
              Add credit
            </button>
          </>
        )}
      </div>
      {account !== undefined && <Facts account={account} />}
      {account !== undefined && opened !== null && (
        <Opened account={account} opened={opened} onClose={close} />
      )}
    </>
  )
}

interface OpenedProps {
  readonly account: Account
  readonly opened: NonNullable<Opened>
  readonly onClose: () => void
}

function Opened({ account, opened, onClose }: OpenedProps) {
  const keys = useQuery({ ...accountKeysQuery(account.id), enabled: false })
  const keyCount = keys.data === undefined || keys.data.has_more ? null : keys.data.data.length
  switch (opened) {
    case 'rename':
      return <RenameAccount account={account} onClose={onClose} />
    case 'suspend':
      return <SuspendAccount account={account} keyCount={keyCount} onClose={onClose} />
    default: {
      const first = opened === 'add' ? 'backed' : 'chargeback'
      return <MoveCredit account={account} first={first} onClose={onClose} />
    }
  }
}

function Facts({ account }: { account: Account }) {
  const { id, email, disabled, created_at: createdAt } = account
  const { external_id: externalId, low_balance: lowMicros } = account
  const now = useNow()
  return (
    <p className="note mb-4 flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className={`chip ${disabled ? 'bad' : 'good'}`}>
        {disabled ? 'Suspended' : 'Active'}
      </span>
      {email !== null && <span>{email}</span>}
      <span>since {dayOf(new Date(createdAt), now)}</span>
      {externalId !== null && (
        <span className="wrap-anywhere">
          external id <span className="mono">{externalId}</span>
        </span>
      )}
      {lowMicros !== null && <span>reported as low below {money(lowMicros)}</span>}
      <MetadataLine metadata={account.metadata} />
      <OnlyModels models={account.models} />
      <AllowanceLine allowance={account.allowance} />
      <span className="idl">
        <span className="mono">{id}</span>
        <CopyButton text={id} label="Copy the id" bare />
      </span>
    </p>
  )
}

function Purses({ account: { credit, has_backed_credit: hasBacked } }: { account: Account }) {
  const now = useNow()
  const { backed, free } = credit
  const held = backed.held + free.held
  return (
    <div className="stats">
      <div className="stat">
        <h2 className="lab">Paid credit</h2>
        <b className={backed.balance < 0 ? 'neg' : ''}>
          {money(backed.balance < 0 ? backed.balance : backed.available)}
        </b>
        <p>
          {hasBacked ? `available of a balance of ${money(backed.balance)}` : 'none was ever added'}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Free credit</h2>
        <b>{money(free.available)}</b>
        <p>
          {free.expires_at === null || free.balance === 0
            ? 'none is left'
            : `until ${dayOf(new Date(free.expires_at), now)}`}
        </p>
      </div>
      <div className="stat">
        <h2 className="lab">Held</h2>
        <b>{money(held)}</b>
        <p>{held === 0 ? 'no running requests' : 'by requests that are not settled'}</p>
      </div>
    </div>
  )
}
