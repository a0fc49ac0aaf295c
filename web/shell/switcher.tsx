import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { shortId } from '../format/ids.ts'
import { Icon } from '../parts/icon.tsx'
import { MenuFind } from '../parts/menu-find.tsx'
import { Popover } from '../parts/popover.tsx'
import { initials } from './initials.ts'
import { useMe, useNameOf } from './use-account.ts'

interface SwitcherProps {
  /** The account whose pages are shown; null: the operator's. */
  readonly accountId: string | null
  /** Only an avatar, for the bar of a phone. */
  readonly isSmall?: boolean
}

/** The owner of the shown pages, and the way to the operator's pages and to other accounts. */
export function Switcher({ accountId, isSmall = false }: SwitcherProps) {
  const { accounts, user } = useMe()
  const places = accounts.length + (user.is_operator ? 1 : 0)
  const shown = isSmall ? <Avatar accountId={accountId} /> : <Shown accountId={accountId} />
  const { name } = useNameOf(accountId ?? '')
  if (places < 2 && !isOther(accountId, accounts)) {
    return isSmall ? <span className="iconb">{shown}</span> : <div className="acct">{shown}</div>
  }
  const label = accountId === null ? 'Operator: switch' : `${initials(name)}: switch from ${name}`
  return (
    <Popover
      label="Accounts"
      align={isSmall ? 'end' : 'start'}
      button={(button) => (
        <button
          type="button"
          className={isSmall ? 'iconb' : 'acct'}
          {...(isSmall ? { 'aria-label': label } : {})}
          {...button}
        >
          {!isSmall && <span className="vh">Switch: </span>}
          {shown}
          {!isSmall && <Icon name="swap" small />}
        </button>
      )}
    >
      {(close) => <Places accountId={accountId} onPick={close} />}
    </Popover>
  )
}

function isOther(accountId: string | null, accounts: readonly { readonly id: string }[]): boolean {
  return accountId !== null && accounts.every(({ id }) => id !== accountId)
}

function Avatar({ accountId }: { accountId: string | null }) {
  const { name } = useNameOf(accountId ?? '')
  if (accountId === null) {
    return (
      <span className="av op" aria-hidden="true">
        <Icon name="shield" small />
      </span>
    )
  }
  return (
    <span className="av" aria-hidden="true">
      {initials(name)}
    </span>
  )
}

function Shown({ accountId }: { accountId: string | null }) {
  const { name } = useNameOf(accountId ?? '')
  return (
    <>
      <Avatar accountId={accountId} />
      <span className="shown">
        <b title={accountId === null ? undefined : name}>
          {accountId === null ? 'Operator' : name}
        </b>
        <small title={accountId ?? undefined}>
          {accountId === null ? location.host : shortId(accountId)}
        </small>
      </span>
    </>
  )
}

const FIND_FROM = 8

function Places({ accountId, onPick }: { accountId: string | null; onPick: () => void }) {
  const { accounts, user } = useMe()
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = accounts.filter(
    ({ id, name }) => name.toLowerCase().includes(wanted) || id.includes(wanted),
  )
  return (
    <>
      {accounts.length >= FIND_FROM && (
        <MenuFind label="Search accounts" value={text} onChange={setText} />
      )}
      {user.is_operator && wanted === '' && (
        <Link
          className="menu-item"
          to="/operator"
          aria-current={accountId === null ? 'true' : undefined}
          onClick={onPick}
        >
          <Avatar accountId={null} />
          <span className="flex-1">Operator: all accounts</span>
          {accountId === null && <Icon name="check" small />}
        </Link>
      )}
      {found.map(({ id, name }) => (
        <Link
          key={id}
          className="menu-item"
          to="/$account/overview"
          params={{ account: id }}
          aria-current={id === accountId ? 'true' : undefined}
          onClick={onPick}
        >
          <span className="av" aria-hidden="true">
            {initials(name)}
          </span>
          <span className="flex-1">{name}</span>
          {id === accountId && <Icon name="check" small />}
        </Link>
      ))}
      {found.length === 0 && wanted !== '' && (
        <p className="note px-2.5 py-2">No account matches “{text.trim()}”.</p>
      )}
    </>
  )
}
