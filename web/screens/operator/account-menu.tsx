import { Link } from '@tanstack/react-router'
import type { Account } from '../../api/answers.ts'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Popover } from '../../parts/popover.tsx'

/** The dialogs of an account: credit is added, given for free or removed, or the account is suspended or resumed. */
export type Opened = 'add' | 'free' | 'take' | 'suspend'

interface AccountMenuProps {
  readonly account: Account
  readonly onOpen: (opened: Opened) => void
}

/** The changes of an account that are made less often. */
export function AccountMenu({ account, onOpen }: AccountMenuProps) {
  const params = { account: account.id }
  return (
    <Popover
      label="More actions"
      align="end"
      button={(button) => (
        <button type="button" className="iconb btn" aria-label="More actions" {...button}>
          <Icon name="more" />
        </button>
      )}
    >
      {(close) => {
        const open = (opened: Opened) => () => {
          close()
          onOpen(opened)
        }
        return (
          <>
            <Link className="menu-item only-s" to="/$account/overview" params={params}>
              <Icon name="eye" small />
              <span>View as member</span>
            </Link>
            <MenuItem icon="gift" text="Give free credit" onClick={open('free')} />
            <Link
              className="menu-item"
              to="/operator/accounts/$account/members"
              params={params}
              search={{ invite: true }}
              onClick={close}
            >
              <Icon name="user" small />
              <span>Invite a member</span>
            </Link>
            <Link
              className="menu-item"
              to="/operator/accounts/$account/settings"
              params={params}
              onClick={close}
            >
              <Icon name="pencil" small />
              <span>Change settings</span>
            </Link>
            <div className="menu-rule" />
            <MenuItem icon="credit" text="Remove credit" isDanger onClick={open('take')} />
            <MenuItem
              icon={account.disabled ? 'activity' : 'pause'}
              text={account.disabled ? 'Resume account' : 'Suspend account'}
              isDanger={!account.disabled}
              onClick={open('suspend')}
            />
          </>
        )
      }}
    </Popover>
  )
}

interface MenuItemProps {
  readonly icon: IconName
  readonly text: string
  readonly isDanger?: boolean
  readonly onClick: () => void
}

function MenuItem({ icon, text, isDanger = false, onClick }: MenuItemProps) {
  return (
    <button type="button" className={isDanger ? 'menu-item danger' : 'menu-item'} onClick={onClick}>
      <Icon name={icon} small />
      <span>{text}</span>
    </button>
  )
}
