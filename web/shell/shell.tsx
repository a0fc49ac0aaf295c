import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Page } from '../api/answers.ts'
import { unsettledQuery } from '../api/operator.ts'
import { keysQuery } from '../api/queries.ts'
import { Brand, Icon } from '../parts/icon.tsx'
import { Popover } from '../parts/popover.tsx'
import { AccountList, AccountSwitch } from './account-switch.tsx'
import { initials } from './initials.ts'
import { isTab, OPERATOR_SECTIONS, SECTIONS, sectionsOf } from './sections.ts'
import { ShortcutHelp } from './shortcut-help.tsx'
import { useShortcuts } from './shortcuts.ts'
import { chooseTheme, useIsDark } from './theme.ts'
import { useAccountId, useAccountName, useMe } from './use-account.ts'
import { UserMenu } from './user-menu.tsx'

/** What stands around every page of an account: side bar, or bars above and below on a phone. */
export function Shell() {
  const me = useMe()
  const [isHelping, setHelping] = useState(false)
  const help = () => setHelping(true)
  useSectionKeys(help)
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <div className="frame">
        <SideBar onHelp={help} />
        <PhoneTop />
        <div className="min-w-0">
          {me.mode === 'simulator' && (
            <aside className="play" aria-label="Mode">
              Simulator: models and money are play.
            </aside>
          )}
          <Main />
        </div>
        <TabBar onHelp={help} />
      </div>
      {isHelping && <ShortcutHelp onClose={() => setHelping(false)} />}
    </>
  )
}

function Main() {
  const ref = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const shown = useRef(path)
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    ref.current?.focus({ preventScroll: true })
  }, [path])
  return (
    <main id="main" ref={ref} tabIndex={-1}>
      <Outlet />
    </main>
  )
}

function SideBar({ onHelp }: { onHelp: () => void }) {
  const { user } = useMe()
  const account = useAccountId()
  const { role } = useAccountName()
  return (
    <aside className="side" aria-label="Pages">
      <Link className="brand" to="/$account/overview" params={{ account }}>
        <Brand />
      </Link>
      <AccountSwitch />
      <nav className="nav" aria-label="Account">
        {sectionsOf(role).map(({ to, text, icon }) => (
          <Link key={to} to={to} params={{ account }}>
            <Icon name={icon} />
            {text}
            {text === 'Keys' && <KeyCount />}
          </Link>
        ))}
      </nav>
      {user.is_operator && (
        <>
          <h2 id="operator-pages">Operator</h2>
          <nav className="nav" aria-labelledby="operator-pages">
            {OPERATOR_SECTIONS.map(({ to, text, icon }) => (
              <Link key={to} to={to} params={{ account }}>
                <Icon name={icon} />
                {text}
                {text === 'To settle' && <UnsettledCount />}
              </Link>
            ))}
          </nav>
        </>
      )}
      <div className="me">
        <Popover
          label="Settings"
          button={(button) => (
            <button type="button" {...button}>
              <span className="av round" aria-hidden="true">
                {initials(user.name)}
              </span>
              <span>
                <b>{user.name}</b>
                <small>{role}</small>
              </span>
            </button>
          )}
        >
          {(close) => <UserMenu onPick={close} onHelp={onHelp} />}
        </Popover>
        <ThemeButton />
      </div>
    </aside>
  )
}

function ThemeButton() {
  const isDark = useIsDark()
  return (
    <button
      type="button"
      className="iconb"
      aria-label={isDark ? 'Light theme' : 'Dark theme'}
      onClick={() => chooseTheme(isDark ? 'light' : 'dark')}
    >
      <Icon name={isDark ? 'sun' : 'moon'} />
    </button>
  )
}

/** How many keys there are, once a page has read them. */
function KeyCount() {
  const { data } = useQuery({ ...keysQuery(useAccountId()), enabled: false })
  if (data === undefined) return null
  return <Count {...data} />
}

/** How many requests of all accounts wait for their cost; none is not shown. */
function UnsettledCount() {
  const { data } = useInfiniteQuery({ ...unsettledQuery, refetchInterval: 60_000 })
  const [first] = data?.pages ?? []
  if (first === undefined || first.data.length === 0) return null
  return <Count {...first} />
}

/** The rows of the first page of a list. */
function Count({ data, has_more: hasMore }: Pick<Page<unknown>, 'data' | 'has_more'>) {
  return <span className="count">{hasMore ? `${data.length}+` : data.length}</span>
}

function PhoneTop() {
  const { accounts } = useMe()
  const account = useAccountId()
  const { name } = useAccountName()
  const avatar = (
    <span className="av" aria-hidden="true">
      {initials(name)}
    </span>
  )
  return (
    <header className="mtop">
      <Link className="brand" to="/$account/overview" params={{ account }}>
        <Brand />
      </Link>
      {accounts.length < 2 ? (
        <span className="iconb">{avatar}</span>
      ) : (
        <Popover
          label="Accounts"
          align="end"
          button={(button) => (
            <button
              type="button"
              className="iconb"
              aria-label={`${initials(name)}: account ${name}`}
              {...button}
            >
              {avatar}
            </button>
          )}
        >
          {(close) => <AccountList onPick={close} />}
        </Popover>
      )}
    </header>
  )
}

function TabBar({ onHelp }: { onHelp: () => void }) {
  const { user } = useMe()
  const account = useAccountId()
  const { role } = useAccountName()
  const hidden = sectionsOf(role).filter((section) => !isTab(section))
  return (
    <nav className="tabbar" aria-label="Pages">
      {SECTIONS.filter(isTab).map(({ to, text, icon }) => (
        <Link key={to} to={to} params={{ account }}>
          <Icon name={icon} />
          {text}
        </Link>
      ))}
      <Popover
        label="More"
        align="end"
        button={(button) => (
          <button type="button" {...button}>
            <Icon name="more" />
            More
          </button>
        )}
      >
        {(close) => (
          <>
            {hidden.map(({ to, text, icon }) => (
              <Link key={to} className="menu-item" to={to} params={{ account }} onClick={close}>
                <Icon name={icon} />
                <span>{text}</span>
              </Link>
            ))}
            {user.is_operator && <div className="menu-rule" />}
            {user.is_operator &&
              OPERATOR_SECTIONS.map(({ to, text, icon }) => (
                <Link key={to} className="menu-item" to={to} params={{ account }} onClick={close}>
                  <Icon name={icon} />
                  <span>{text}</span>
                </Link>
              ))}
            <div className="menu-rule" />
            <UserMenu onPick={close} onHelp={onHelp} />
          </>
        )}
      </Popover>
    </nav>
  )
}

function useSectionKeys(onHelp: () => void): void {
  const navigate = useNavigate()
  const account = useAccountId()
  useShortcuts({
    '?': onHelp,
    ...Object.fromEntries(
      SECTIONS.map(({ to, key }) => [`g ${key}`, () => void navigate({ to, params: { account } })]),
    ),
  })
}
