import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { accountsQuery } from './api/operator.ts'
import { startQuery } from './api/queries.ts'
import { parseSearch, stringifySearch } from './format/address.ts'
import { operatorRoutes } from './operator-routes.tsx'
import { BEHIND_SIGN_IN, meOrSignIn, root, screen, screensOf, signedIn } from './route-parts.tsx'
import { readActivitySearch } from './screens/activity/search.ts'
import { isOwnPath } from './screens/door/own-path.ts'
import { readModelsSearch } from './screens/models/search.ts'
import {
  readConnectSearch,
  readCreditSearch,
  readKeysSearch,
  readMembersSearch,
  readNothing,
  readOverviewSearch,
  readPlaygroundSearch,
  readUsageSearch,
} from './searches.ts'

/** Doors, which need no sign-in: path and search. */
function door<const Path extends string, Search>(
  path: Path,
  validateSearch: (search: Record<string, unknown>) => Search,
  component: ReturnType<typeof lazyRouteComponent>,
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch,
    component,
    // The name of the service is in it, which most doors need for nothing else. Without an answer they are shown too.
    loader({ context }) {
      void context.queries.prefetchQuery(startQuery)
    },
  })
}

function readNext({ next }: Record<string, unknown>): { next?: string } {
  return isOwnPath(next) ? { next } : {}
}

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  async beforeLoad({ context }) {
    const me = await signedIn(context.queries, '/')
    const [account] = me.accounts
    if (account !== undefined) {
      throw redirect({ to: '/$account/overview', params: { account: account.id } })
    }
    const hasAccounts = me.user.is_operator && (await hasAnyAccount(context.queries))
    throw redirect({ to: hasAccounts ? '/operator' : '/new-account' })
  },
})

const newAccount = createRoute({
  getParentRoute: () => root,
  path: '/new-account',
  beforeLoad: ({ context }) => signedIn(context.queries, '/new-account').then(() => undefined),
  component: lazyRouteComponent(() => import('./screens/door/new-account.tsx'), 'NewAccount'),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: readNext,
  async beforeLoad({ context, search }) {
    const start = await context.queries.ensureQueryData(startQuery)
    if (start.factor_needed !== null) throw redirect({ to: '/second-factor', search })
  },
  component: lazyRouteComponent(() => import('./screens/door/sign-in.tsx'), 'SignIn'),
})

// As it came: the router reads what looks like a number as one.
const arrivedWith = location.search.slice(1)

const signInReturn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in-return/$provider',
  loader: () => arrivedWith,
  component: lazyRouteComponent(() => import('./screens/door/outside.tsx'), 'SignInReturn'),
})

const secondFactor = createRoute({
  getParentRoute: () => root,
  path: '/second-factor',
  validateSearch: readNext,
  async loader({ context }) {
    const start = await context.queries.fetchQuery(startQuery)
    if (start.factor_needed === null) throw redirect({ to: '/' })
    return start
  },
  component: lazyRouteComponent(() => import('./screens/door/second-factor.tsx'), 'ShowFactor'),
})

const setUpFactor = createRoute({
  getParentRoute: () => root,
  path: '/set-up-second-factor',
  validateSearch: readNext,
  async beforeLoad({ context, search }) {
    const me = await meOrSignIn(context.queries, search)
    if (me.user.second_factor !== 'required') throw redirect({ to: '/' })
  },
  component: lazyRouteComponent(() => import('./screens/door/second-factor.tsx'), 'SetUpFactor'),
})

const byMail = () => import('./screens/door/by-mail.tsx')
const linkDoors = () => import('./screens/door/link-doors.tsx')

const DOORS = [
  door('/sign-in-by-mail', readNext, lazyRouteComponent(byMail, 'SignInByMail')),
  door('/forgot', readNothing, lazyRouteComponent(byMail, 'Forgot')),
  door('/sign-in-link', readNothing, lazyRouteComponent(linkDoors, 'SignInLink')),
  door('/setup', readNothing, lazyRouteComponent(linkDoors, 'Setup')),
  door('/reset', readNothing, lazyRouteComponent(linkDoors, 'Reset')),
  door('/new-email', readNothing, lazyRouteComponent(linkDoors, 'NewEmail')),
  door('/invite', readNothing, lazyRouteComponent(linkDoors, 'Invitation')),
] as const

const account = createRoute({
  ...BEHIND_SIGN_IN,
  path: '/$account',
  beforeLoad: async ({ context, location }) => ({
    me: await signedIn(context.queries, location.href),
  }),
})

const profile = createRoute({
  ...BEHIND_SIGN_IN,
  path: '/profile',
  beforeLoad: async ({ context, location }) => ({
    me: await signedIn(context.queries, location.href),
  }),
})

const ofAccount = screensOf(account)

const ACCOUNT_SCREENS = [
  ofAccount('/overview', readOverviewSearch, {
    OverviewScreen: () => import('./screens/overview/overview.tsx'),
  }),
  ofAccount('/activity', readActivitySearch, {
    ActivityScreen: () => import('./screens/activity/activity.tsx'),
  }),
  ofAccount('/usage', readUsageSearch, {
    UsageScreen: () => import('./screens/usage/usage.tsx'),
  }),
  ofAccount('/keys', readKeysSearch, {
    KeysScreen: () => import('./screens/keys/keys.tsx'),
  }),
  ofAccount('/credit', readCreditSearch, {
    CreditScreen: () => import('./screens/credit/credit.tsx'),
  }),
  ofAccount('/models', readModelsSearch, {
    ModelsScreen: () => import('./screens/models/models.tsx'),
  }),
  ofAccount('/playground', readPlaygroundSearch, {
    PlaygroundScreen: () => import('./screens/playground/playground.tsx'),
  }),
  ofAccount('/connect', readConnectSearch, {
    ConnectScreen: () => import('./screens/connect/connect.tsx'),
  }),
  ofAccount('/members', readMembersSearch, {
    MembersScreen: () => import('./screens/members/members.tsx'),
  }),
] as const

const profileHome = createRoute({
  getParentRoute: () => profile,
  path: '/',
  ...screen({ ProfileScreen: () => import('./screens/profile/profile.tsx') }),
})

const accountHome = createRoute({
  getParentRoute: () => account,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/$account/overview', params, replace: true })
  },
})

const MOVED: Readonly<Record<string, string>> = { 'to-settle': 'unsettled' }

/** Addresses of 0.2.0, where the pages of operators were below an account. They go with the next release. */
const movedOperator = createRoute({
  getParentRoute: () => account,
  path: '/operator/$',
  validateSearch: (search: Record<string, unknown>) => search,
  beforeLoad({ params, location }) {
    const [first = '', ...rest] = (params._splat ?? '').split('/')
    const path = [MOVED[first] ?? first, ...rest].join('/')
    throw redirect({ href: `/operator/${path}${location.searchStr}`, replace: true })
  },
})

const movedProfile = createRoute({
  getParentRoute: () => account,
  path: '/profile',
  beforeLoad() {
    throw redirect({ to: '/profile', replace: true })
  },
})

/** Whether the gateway has an account: the first operator of a new one begins with its own. */
async function hasAnyAccount(queries: QueryClient): Promise<boolean> {
  const { pages } = await queries.ensureInfiniteQueryData(accountsQuery(''))
  return pages.some(({ data }) => data.length > 0)
}

/** The pages and their addresses. */
export function createPageRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([
      home,
      newAccount,
      signIn,
      signInReturn,
      secondFactor,
      setUpFactor,
      ...DOORS,
      account.addChildren([accountHome, ...ACCOUNT_SCREENS, movedOperator, movedProfile]),
      operatorRoutes,
      profile.addChildren([profileHome]),
    ]),
    basepath: '/app',
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
    // Parameters of an address that no page reads are dropped: otherwise they would stay in its search.
    search: { strict: true },
    parseSearch,
    stringifySearch,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
