import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTitle } from '../parts/use-title.ts'
import { usePlace } from './use-account.ts'

// Some screens of an account are at two places: among its own pages, and as tabs of the account for operators.

const OWN_PATHS = {
  activity: '/$account/activity',
  credit: '/$account/credit',
  keys: '/$account/keys',
  usage: '/$account/usage',
} as const

const TAB_PATHS = {
  activity: '/operator/accounts/$account/activity',
  credit: '/operator/accounts/$account/credit',
  keys: '/operator/accounts/$account/keys',
  usage: '/operator/accounts/$account/usage',
} as const

/** The paths of such screens, at the place that is shown. */
export function useAccountPaths(): typeof OWN_PATHS | typeof TAB_PATHS {
  return useIsTab() ? TAB_PATHS : OWN_PATHS
}

/** Whether such a screen is shown as a tab of an account, to operators. */
export function useIsTab(): boolean {
  const { account } = useParams({ strict: false })
  return usePlace().kind === 'operator' && account !== undefined
}

/** The caller that reads accounts: operators have separate paths. */
export function useAccountCaller(): 'member' | 'operator' {
  return usePlace().kind === 'operator' ? 'operator' : 'member'
}

interface ChangeOptions {
  readonly replace?: boolean
  readonly resetScroll?: boolean
}

/** The search of such a screen's address, as its route has read it, and how it is changed. */
export function useScreenSearch<Search extends object>() {
  // Read by whichever of its routes is shown.
  const search: unknown = useSearch({ strict: false })
  const navigate = useNavigate()
  return {
    search: search as Search,
    change(next: (before: Search) => Search, options: ChangeOptions = {}): void {
      void navigate({ to: '.', search: next as never, ...options })
    },
  }
}

interface ScreenTopProps {
  readonly title: string
  /** The buttons on the right. Default: none. */
  readonly children?: ReactNode
}

/** The head of a screen, and the title of the window. As a tab it is below the name of the account. */
export function ScreenTop({ title, children }: ScreenTopProps) {
  const isTab = useIsTab()
  useTitle(isTab ? null : title)
  return (
    <div className={isTab ? 'top of-tab' : 'top'}>
      {isTab ? <h2>{title}</h2> : <h1>{title}</h1>}
      {children}
    </div>
  )
}
