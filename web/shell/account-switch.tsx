import { Link } from '@tanstack/react-router'
import { Icon } from '../parts/icon.tsx'
import { Popover } from '../parts/popover.tsx'
import { initials } from './initials.ts'
import { useAccountId, useAccountName, useMe } from './use-account.ts'

/** The account whose pages are shown, and a way to the user's other accounts. */
export function AccountSwitch() {
  const me = useMe()
  const accountId = useAccountId()
  const { name } = useAccountName()
  const shown = (
    <>
      <span className="av" aria-hidden="true">
        {initials(name)}
      </span>
      <span>
        <b>{name}</b>
        <small title={accountId}>{shortId(accountId)}</small>
      </span>
    </>
  )
  if (me.accounts.length < 2) return <div className="acct">{shown}</div>
  return (
    <Popover
      label="Accounts"
      button={(button) => (
        <button type="button" className="acct" {...button}>
          {shown}
          <Icon name="swap" small />
        </button>
      )}
    >
      {(close) => <AccountList onPick={close} />}
    </Popover>
  )
}

/** The user's accounts, as links to their overviews. */
export function AccountList({ onPick }: { onPick: () => void }) {
  const me = useMe()
  const accountId = useAccountId()
  return me.accounts.map(({ id, name }) => (
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
  ))
}

/** `acct_01kb…7m2q`. */
function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 9)}…${id.slice(-4)}`
}
