import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon } from '../parts/icon.tsx'
import { useKeptRange } from './kept-range.ts'
import {
  type AccountSection,
  OPERATOR_SECTIONS,
  type OperatorSection,
  sectionsOf,
} from './sections.ts'
import { useShortcuts } from './shortcuts.ts'
import { useMe, useNameOf } from './use-account.ts'

interface SectionLinkProps {
  readonly section: AccountSection | OperatorSection
  /** The account whose page it is; pages of operators have none. */
  readonly accountId: string | null
  /** Default: its whole name. */
  readonly text?: string
  readonly className?: string
  readonly onClick?: () => void
  /** After its name. */
  readonly children?: ReactNode
}

/** A link to a section, with its icon and name. It keeps the range that was chosen on another one. */
export function SectionLink(props: SectionLinkProps) {
  const { section, accountId, text = section.text, children, ...rest } = props
  const searchTo = useKeptRange()
  return (
    <Link
      to={section.to}
      params={accountId === null ? {} : { account: accountId }}
      search={searchTo(section.to)}
      // The other pages of operators are below Home.
      activeOptions={{ exact: section.text === 'Home', includeSearch: false }}
      {...rest}
    >
      <Icon name={section.icon} />
      <span>{text}</span>
      {children}
    </Link>
  )
}

/** The targets of the side bar and of the bars of a phone. */
export interface Navigation {
  /** Null: the pages of operators. */
  readonly accountId: string | null
  readonly sections: readonly (AccountSection | OperatorSection)[]
}

// The account that the user came from: the page of the user itself belongs to none.
let lastAccountId: string | null = null

/** The sections around a page; a profile has those of the place that was shown before it. */
export function useNavigation(
  place: 'account' | 'operator' | 'profile',
  shown: string | null,
): Navigation {
  const { accounts, user } = useMe()
  if (place !== 'profile') lastAccountId = shown
  const [first] = accounts
  // An operator's profile does not keep a customer's menu: no band on it would name the customer.
  const isKept = !user.is_operator || accounts.some(({ id }) => id === lastAccountId)
  const before = isKept ? (lastAccountId ?? first?.id ?? null) : null
  const accountId = place === 'profile' ? before : shown
  const { role } = useNameOf(accountId ?? first?.id ?? '')
  if (accountId !== null) return { accountId, sections: sectionsOf(role) }
  return { accountId, sections: user.is_operator ? OPERATOR_SECTIONS : [] }
}

/** Opens sections by two keys, `g` and the section's own. */
export function useSectionKeys({ accountId, sections }: Navigation, onHelp: () => void): void {
  const navigate = useNavigate()
  const searchTo = useKeptRange()
  const params = accountId === null ? {} : { account: accountId }
  useShortcuts({
    '?': onHelp,
    ...Object.fromEntries(
      sections.map(({ to, key }) => [
        `g ${key}`,
        () => void navigate({ to, params, search: searchTo(to) }),
      ]),
    ),
  })
}
