import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import { accountsQuery, purchasesQuery, unsettledQuery } from '../api/operator.ts'
import { keysQuery } from '../api/queries.ts'
import { capitalized } from '../format/capitalized.ts'
import { commandKey } from '../parts/command-key.ts'
import { Count } from '../parts/count.tsx'
import { Brand, Icon } from '../parts/icon.tsx'
import { Popover } from '../parts/popover.tsx'
import { initials } from './initials.ts'
import { type Navigation, SectionLink } from './section-links.tsx'
import { isTab, OPERATOR_GROUPS, type OperatorSection, tabText } from './sections.ts'
import { Switcher } from './switcher.tsx'
import { chooseTheme, useIsDark } from './theme.ts'
import { useMe, useNameOf } from './use-account.ts'
import { UserMenu } from './user-menu.tsx'

interface BarProps {
  readonly navigation: Navigation
  readonly onHelp: () => void
  readonly onSearch: () => void
}

/** The side bar: whose pages these are, the search, the sections, and the user. */
export function SideBar({ navigation, onHelp, onSearch }: BarProps) {
  const { user } = useMe()
  const { accountId, sections } = navigation
  const { role } = useNameOf(accountId ?? '')
  return (
    <aside className="side" aria-label="Pages">
      <HomeLink accountId={accountId} />
      <Switcher accountId={accountId} />
      <button type="button" className="find jump" onClick={onSearch}>
        <Icon name="search" small />
        <span>Search or jump to</span>
        <kbd>{commandKey()} K</kbd>
      </button>
      {accountId === null ? (
        user.is_operator && <OperatorSections />
      ) : (
        <nav className="nav" aria-label="Account">
          {sections.map((section) => (
            <SectionLink key={section.to} section={section} accountId={accountId}>
              {section.text === 'Keys' && <KeyCount accountId={accountId} />}
            </SectionLink>
          ))}
        </nav>
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
                <small>{capitalized(accountId === null ? 'operator' : role)}</small>
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

function OperatorSections() {
  const id = useId()
  return OPERATOR_GROUPS.map(({ title, sections }) => (
    <div key={title ?? ''} className="contents">
      {title !== null && <h2 id={`${id}-${title}`}>{title}</h2>}
      <nav
        className="nav"
        {...(title === null
          ? { 'aria-label': 'Operator' }
          : { 'aria-labelledby': `${id}-${title}` })}
      >
        {sections.map((section) => (
          <SectionLink key={section.to} section={section} accountId={null}>
            <SectionCount section={section} />
          </SectionLink>
        ))}
      </nav>
    </div>
  ))
}

function SectionCount({ section }: { section: OperatorSection }) {
  switch (section.text) {
    case 'Accounts':
      return <AccountCount />
    case 'Unsettled':
      return <UnsettledCount />
    case 'Purchases':
      return <PurchaseCount />
    default:
      return null
  }
}

function HomeLink({ accountId }: { accountId: string | null }) {
  if (accountId === null) {
    return (
      <Link className="brand" to="/operator">
        <Brand />
      </Link>
    )
  }
  return (
    <Link className="brand" to="/$account/overview" params={{ account: accountId }}>
      <Brand />
    </Link>
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

/** How many keys there are. */
function KeyCount({ accountId }: { accountId: string }) {
  const { data, isError } = useQuery({ ...keysQuery(accountId), staleTime: MINUTE_MS })
  return <Count page={data} isError={isError} />
}

/** How many accounts there are. */
function AccountCount() {
  const { data, isError } = useInfiniteQuery({ ...accountsQuery(''), staleTime: MINUTE_MS })
  return <Count page={data?.pages[0]} isError={isError} />
}

/** How many requests of all accounts are unsettled; none is not shown. */
function UnsettledCount() {
  const { data, isError } = useInfiniteQuery({ ...unsettledQuery, refetchInterval: MINUTE_MS })
  const [first] = data?.pages ?? []
  return first?.data.length === 0 ? null : <Count page={first} isError={isError} />
}

/** How many purchases are on hold; none is not shown. */
function PurchaseCount() {
  const query = { ...purchasesQuery('held'), refetchInterval: MINUTE_MS }
  const { data, isError } = useInfiniteQuery(query)
  const [first] = data?.pages ?? []
  return first?.data.length === 0 ? null : <Count page={first} isError={isError} />
}

/** The bar at the top of a phone. */
export function PhoneTop({ navigation: { accountId }, onSearch }: Omit<BarProps, 'onHelp'>) {
  return (
    <header className="mtop">
      <HomeLink accountId={accountId} />
      <button type="button" className="iconb" aria-label="Search" onClick={onSearch}>
        <Icon name="search" />
      </button>
      <Switcher accountId={accountId} isSmall />
    </header>
  )
}

/** The bar at the bottom of a phone: four sections, and the others under More. */
export function TabBar({ navigation, onHelp }: Omit<BarProps, 'onSearch'>) {
  const { accountId, sections } = navigation
  return (
    <nav className="tabbar" aria-label="Pages">
      {sections.filter(isTab).map((section) => (
        <SectionLink
          key={section.to}
          section={section}
          accountId={accountId}
          text={tabText(section)}
        />
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
            {sections
              .filter((section) => !isTab(section))
              .map((section) => (
                <SectionLink
                  key={section.to}
                  className="menu-item"
                  section={section}
                  accountId={accountId}
                  onClick={close}
                />
              ))}
            <div className="menu-rule" />
            <UserMenu onPick={close} onHelp={onHelp} />
          </>
        )}
      </Popover>
    </nav>
  )
}
