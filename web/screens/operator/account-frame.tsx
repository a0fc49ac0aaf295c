import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useMatchRoute } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Account, Page } from '../../api/answers.ts'
import { oneAccountQuery } from '../../api/operator.ts'
import { keysQuery, membersQuery } from '../../api/queries.ts'
import { dayOf } from '../../format/time.ts'
import { AddButton } from '../../parts/buttons.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Count } from '../../parts/count.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useNow } from '../../parts/now.ts'
import { Failed, Grey } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useKeptRange } from '../../shell/kept-range.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { OperatorBands } from './account-bands.tsx'
import { AccountMenu, type Opened } from './account-menu.tsx'
import { MoveCredit } from './move-credit.tsx'
import { SuspendAccount } from './suspend-account.tsx'

/** One account, for operators: its head and its tabs, around the one that is shown. */
export function AccountFrame() {
  const accountId = useAccountId()
  const query = useQuery(oneAccountQuery(accountId))
  const [opened, setOpened] = useState<Opened | null>(null)
  const account = query.data
  const isAt = useMatchRoute()
  const tab = TABS.find(({ to }) => isAt({ to }) !== false)
  useTitle([tab?.text ?? 'Account', account?.name ?? accountId].join(' · '))
  if (account === undefined && query.isError) {
    return (
      <>
        <Head account={null} onOpen={setOpened} />
        <section className="card">
          <Failed what="The account could not be loaded." query={query} />
        </section>
      </>
    )
  }
  return (
    <>
      <Head account={account} onOpen={setOpened} />
      {account !== undefined && <OperatorBands account={account} onOpen={setOpened} />}
      <Tabs accountId={accountId} name={account?.name ?? 'Account'} />
      <Outlet />
      {account !== undefined && opened !== null && (
        <OpenedDialog account={account} opened={opened} onClose={() => setOpened(null)} />
      )}
    </>
  )
}

interface HeadProps {
  /** Undefined: it is still read; null: it could not be read. */
  readonly account: Account | undefined | null
  readonly onOpen: (opened: Opened) => void
}

// So much fits next to the buttons of a phone on three lines.
const NAME_CHARS_SHORT = 36

function Head({ account, onOpen }: HeadProps) {
  const searchTo = useKeptRange()
  return (
    <>
      <p className="crumb">
        <Link to="/operator/accounts" search={searchTo('/operator/accounts')}>
          Accounts
        </Link>
        {account != null && (
          <>
            <Icon name="right" small />
            <span title={account.name}>{account.name}</span>
          </>
        )}
      </p>
      <div className="top">
        <div className={(account?.name.length ?? 0) > NAME_CHARS_SHORT ? 'title long' : 'title'}>
          <h1>{account?.name ?? 'Account'}</h1>
          {account != null && (
            <span className={`chip ${account.disabled ? 'bad' : 'good'}`}>
              {account.disabled ? 'Suspended' : 'Active'}
            </span>
          )}
        </div>
        {account != null && (
          <>
            <Link
              className="btn hide-s"
              to="/$account/overview"
              params={{ account: account.id }}
              search={searchTo('/$account/overview')}
            >
              <Icon name="eye" />
              View as member
            </Link>
            <AddButton onClick={() => onOpen('add')}>Add credit</AddButton>
            <AccountMenu account={account} onOpen={onOpen} />
          </>
        )}
      </div>
      {account != null && <Facts account={account} />}
      {/* As high as a line of facts, so that the tabs do not move. */}
      {account === undefined && (
        <p className="facts" aria-hidden="true">
          <Grey width={320} />
        </p>
      )}
    </>
  )
}

function Facts({ account }: { account: Account }) {
  const { id, email, external_id: externalId, created_at: createdAt } = account
  const now = useNow()
  return (
    <p className="facts">
      <span className="idl">
        <span className="mono">{id}</span>
        <CopyButton text={id} label="Copy the account ID" bare />
      </span>
      {email !== null && <span className="wrap-anywhere">{email}</span>}
      {externalId !== null && (
        <span className="wrap-anywhere">
          External ID <span className="mono">{externalId}</span>
        </span>
      )}
      <span>Created {dayOf(new Date(createdAt), now)}</span>
    </p>
  )
}

const TABS = [
  { to: '/operator/accounts/$account', text: 'Summary' },
  { to: '/operator/accounts/$account/usage', text: 'Usage' },
  { to: '/operator/accounts/$account/activity', text: 'Activity' },
  { to: '/operator/accounts/$account/keys', text: 'Keys' },
  { to: '/operator/accounts/$account/credit', text: 'Credit' },
  { to: '/operator/accounts/$account/members', text: 'Members' },
  { to: '/operator/accounts/$account/settings', text: 'Settings' },
] as const

function Tabs({ accountId, name }: { readonly accountId: string; readonly name: string }) {
  const keys = useQuery(keysQuery(accountId))
  const members = useQuery(membersQuery(accountId))
  const counted: Readonly<Record<string, UseQueryResult<Page<unknown>>>> = {
    Keys: keys,
    Members: members,
  }
  const ref = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const searchTo = useKeptRange()
  // On a phone, the last tabs are outside of the window.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another path has another current tab, and counts move it
  useEffect(() => {
    const current = ref.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [pathname, keys.data, members.data])
  return (
    <nav className="tabs" aria-label={name} ref={ref}>
      {TABS.map(({ to, text }) => (
        <Link
          key={to}
          to={to}
          params={{ account: accountId }}
          search={searchTo(to)}
          activeOptions={{ exact: true, includeSearch: false }}
          resetScroll={false}
        >
          {text}
          <Count page={counted[text]?.data} isError={counted[text]?.isError === true} />
        </Link>
      ))}
    </nav>
  )
}

const MOVES = { add: 'backed', free: 'free', take: 'chargeback' } as const

interface OpenedDialogProps {
  readonly account: Account
  readonly opened: Opened
  readonly onClose: () => void
}

function OpenedDialog({ account, opened, onClose }: OpenedDialogProps) {
  const { data: keys } = useQuery({ ...keysQuery(account.id), enabled: false })
  if (opened === 'suspend') {
    return <SuspendAccount account={account} keys={keys} onClose={onClose} />
  }
  return <MoveCredit account={account} first={MOVES[opened]} onClose={onClose} />
}
