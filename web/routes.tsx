import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import type { Me } from './api/answers.ts'
import { ApiError } from './api/client.ts'
import { accountsQuery } from './api/operator.ts'
import { meQuery, startQuery } from './api/queries.ts'
import { PageFailed } from './parts/page-failed.tsx'
import { readActivitySearch } from './screens/activity/search.ts'
import { readConnectSearch } from './screens/connect/search.ts'
import { isOwnPath } from './screens/door/own-path.ts'
import { readAccountsSearch, readPurchasesSearch } from './screens/operator/search.ts'
import { readPlaygroundSearch } from './screens/playground/search.ts'
import {
  readCreditSearch,
  readKeysSearch,
  readModelsSearch,
  readOverviewSearch,
  readUsageSearch,
} from './searches.ts'
import { Shell } from './shell/shell.tsx'

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Outlet,
  errorComponent: ({ error }) => <PageFailed error={asError(error)} />,
  notFoundComponent: () => <PageFailed error={new Error('There is no page at this address.')} />,
})

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  async beforeLoad({ context }) {
    const me = await signedIn(context.queries, '/')
    const [account] = me.accounts
    if (account === undefined) {
      const [other] = me.user.is_operator ? await anyAccounts(context.queries) : []
      if (other === undefined) throw redirect({ to: '/new-account' })
      throw redirect({ to: '/$account/operator/accounts', params: { account: other.id } })
    }
    throw redirect({ to: '/$account/overview', params: { account: account.id } })
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
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    isOwnPath(next) ? { next } : {},
  async beforeLoad({ context, search }) {
    const start = await context.queries.ensureQueryData(startQuery)
    if (start.factor_needed !== null) throw redirect({ to: '/second-factor', search })
  },
  component: lazyRouteComponent(() => import('./screens/door/sign-in.tsx'), 'SignIn'),
})

const signInByMail = createRoute({
  getParentRoute: () => root,
  path: '/sign-in-by-mail',
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    isOwnPath(next) ? { next } : {},
  component: lazyRouteComponent(() => import('./screens/door/by-mail.tsx'), 'SignInByMail'),
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
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } =>
    isOwnPath(next) ? { next } : {},
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
  async beforeLoad({ context }) {
    const me = await context.queries.ensureQueryData(meQuery)
    if (me.user.second_factor !== 'required') throw redirect({ to: '/' })
  },
  component: lazyRouteComponent(() => import('./screens/door/second-factor.tsx'), 'SetUpFactor'),
})

const forgot = createRoute({
  getParentRoute: () => root,
  path: '/forgot',
  component: lazyRouteComponent(() => import('./screens/door/by-mail.tsx'), 'Forgot'),
})

const signInLink = createRoute({
  getParentRoute: () => root,
  path: '/sign-in-link',
  component: lazyRouteComponent(() => import('./screens/door/link-doors.tsx'), 'SignInLink'),
})

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  component: lazyRouteComponent(() => import('./screens/door/link-doors.tsx'), 'Setup'),
})

const reset = createRoute({
  getParentRoute: () => root,
  path: '/reset',
  component: lazyRouteComponent(() => import('./screens/door/link-doors.tsx'), 'Reset'),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invite',
  component: lazyRouteComponent(() => import('./screens/door/link-doors.tsx'), 'Invitation'),
})

const account = createRoute({
  getParentRoute: () => root,
  path: '/$account',
  beforeLoad: async ({ context, location }) => ({
    me: await signedIn(context.queries, location.href),
  }),
  component: Shell,
})

const overview = createRoute({
  getParentRoute: () => account,
  path: '/overview',
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => import('./screens/overview/overview.tsx'), 'OverviewScreen'),
})

const activity = createRoute({
  getParentRoute: () => account,
  path: '/activity',
  validateSearch: readActivitySearch,
  component: lazyRouteComponent(() => import('./screens/activity/activity.tsx'), 'ActivityScreen'),
})

const usage = createRoute({
  getParentRoute: () => account,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('./screens/usage/usage.tsx'), 'UsageScreen'),
})

const keys = createRoute({
  getParentRoute: () => account,
  path: '/keys',
  validateSearch: readKeysSearch,
  component: lazyRouteComponent(() => import('./screens/keys/keys.tsx'), 'KeysScreen'),
})

const credit = createRoute({
  getParentRoute: () => account,
  path: '/credit',
  validateSearch: readCreditSearch,
  component: lazyRouteComponent(() => import('./screens/credit/credit.tsx'), 'CreditScreen'),
})

const models = createRoute({
  getParentRoute: () => account,
  path: '/models',
  validateSearch: readModelsSearch,
  component: lazyRouteComponent(() => import('./screens/models/models.tsx'), 'ModelsScreen'),
})

const connect = createRoute({
  getParentRoute: () => account,
  path: '/connect',
  validateSearch: readConnectSearch,
  component: lazyRouteComponent(() => import('./screens/connect/connect.tsx'), 'ConnectScreen'),
})

const playground = createRoute({
  getParentRoute: () => account,
  path: '/playground',
  validateSearch: readPlaygroundSearch,
  component: lazyRouteComponent(
    () => import('./screens/playground/playground.tsx'),
    'PlaygroundScreen',
  ),
})

const members = createRoute({
  getParentRoute: () => account,
  path: '/members',
  component: lazyRouteComponent(() => import('./screens/members/members.tsx'), 'MembersScreen'),
})

const profile = createRoute({
  getParentRoute: () => account,
  path: '/profile',
  component: lazyRouteComponent(() => import('./screens/profile/profile.tsx'), 'ProfileScreen'),
})

const operatorAccounts = createRoute({
  getParentRoute: () => account,
  path: '/operator/accounts',
  validateSearch: readAccountsSearch,
  component: lazyRouteComponent(() => import('./screens/operator/accounts.tsx'), 'AccountsScreen'),
})

const operatorAccount = createRoute({
  getParentRoute: () => account,
  path: '/operator/accounts/$id',
  component: lazyRouteComponent(() => import('./screens/operator/account.tsx'), 'OneAccountScreen'),
})

const operatorToSettle = createRoute({
  getParentRoute: () => account,
  path: '/operator/to-settle',
  component: lazyRouteComponent(() => import('./screens/operator/to-settle.tsx'), 'ToSettleScreen'),
})

const operatorPurchases = createRoute({
  getParentRoute: () => account,
  path: '/operator/purchases',
  validateSearch: readPurchasesSearch,
  component: lazyRouteComponent(
    () => import('./screens/operator/purchases.tsx'),
    'PurchasesScreen',
  ),
})

const operatorCodes = createRoute({
  getParentRoute: () => account,
  path: '/operator/codes',
  component: lazyRouteComponent(() => import('./screens/operator/codes.tsx'), 'CodesScreen'),
})

const operatorTokens = createRoute({
  getParentRoute: () => account,
  path: '/operator/tokens',
  component: lazyRouteComponent(() => import('./screens/operator/tokens.tsx'), 'TokensScreen'),
})

const operatorWebhooks = createRoute({
  getParentRoute: () => account,
  path: '/operator/webhooks',
  component: lazyRouteComponent(() => import('./screens/operator/webhooks.tsx'), 'WebhooksScreen'),
})

const operatorWebhook = createRoute({
  getParentRoute: () => account,
  path: '/operator/webhooks/$id',
  component: lazyRouteComponent(() => import('./screens/operator/webhook.tsx'), 'OneWebhookScreen'),
})

const operatorHealth = createRoute({
  getParentRoute: () => account,
  path: '/operator/health',
  component: lazyRouteComponent(() => import('./screens/operator/health.tsx'), 'HealthScreen'),
})

const accountHome = createRoute({
  getParentRoute: () => account,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/$account/overview', params, replace: true })
  },
})

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** For an operator without an account of its own: its desk stands beside the pages of any account. */
async function anyAccounts(queries: QueryClient) {
  const { pages } = await queries.ensureInfiniteQueryData(accountsQuery(''))
  return pages.flatMap(({ data }) => data)
}

/** Who is signed in; leads to the sign-in, and back afterwards, where no user is. */
async function signedIn(queries: QueryClient, next: string) {
  const search = next === '/' ? {} : { next }
  let me: Me
  try {
    me = await queries.ensureQueryData(meQuery)
  } catch (error) {
    const isSignedOut = error instanceof ApiError && error.httpStatus === 401
    throw isSignedOut ? redirect({ to: '/sign-in', search }) : error
  }
  if (me.user.second_factor === 'required') throw redirect({ to: '/set-up-second-factor' })
  return me
}

/** The pages and their addresses. */
export function createPageRouter(queries: QueryClient) {
  return createRouter({
    routeTree: root.addChildren([
      home,
      newAccount,
      signIn,
      signInByMail,
      signInReturn,
      signInLink,
      secondFactor,
      setUpFactor,
      forgot,
      setup,
      reset,
      invitation,
      account.addChildren([
        accountHome,
        overview,
        activity,
        usage,
        keys,
        credit,
        models,
        playground,
        connect,
        members,
        profile,
        operatorAccounts,
        operatorAccount,
        operatorToSettle,
        operatorPurchases,
        operatorCodes,
        operatorTokens,
        operatorWebhooks,
        operatorWebhook,
        operatorHealth,
      ]),
    ]),
    basepath: '/app',
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: true,
    // What no page has read of an address is dropped: else it would be in its search, unread.
    search: { strict: true },
    parseSearch,
    stringifySearch,
  })
}

type SearchValue = string | readonly string[]

/** A query as it is written: `?key=a&key=b`, without quotes and brackets. */
function parseSearch(text: string): Record<string, SearchValue> {
  const search: Record<string, SearchValue> = {}
  const params = new URLSearchParams(text)
  for (const name of new Set(params.keys())) {
    const [first = '', ...more] = params.getAll(name)
    search[name] = more.length === 0 ? first : [first, ...more]
  }
  return search
}

function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined || value === null) continue
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one))
  }
  return params.size === 0 ? '' : `?${params}`
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPageRouter>
  }
}
