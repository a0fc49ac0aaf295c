import { createRoute, redirect } from '@tanstack/react-router'
import { BEHIND_SIGN_IN, screen, screensOf, signedIn } from './route-parts.tsx'
import { readAllActivitySearch, readOperatorActivitySearch } from './screens/activity/search.ts'
import { readOfferedSearch } from './screens/models/search.ts'
import { readHomeSearch, readMarginSearch } from './screens/operator/margin-search.ts'
import {
  readAccountsSearch,
  readAuditLogSearch,
  readPurchasesSearch,
} from './screens/operator/search.ts'
import {
  readComparedSearch,
  readCreditHistorySearch,
  readKeysSearch,
  readMembersSearch,
  readNothing,
  readUsageSearch,
} from './searches.ts'

const operator = createRoute({
  ...BEHIND_SIGN_IN,
  path: '/operator',
  async beforeLoad({ context, location }) {
    const me = await signedIn(context.queries, location.href)
    if (!me.user.is_operator) throw redirect({ to: '/', replace: true })
    return { me }
  },
})

const ofOperator = screensOf(operator)

const OPERATOR_SCREENS = [
  ofOperator(
    '/',
    readHomeSearch,
    screen(() => import('./screens/operator/home.tsx'), 'HomeScreen'),
  ),
  ofOperator(
    '/accounts',
    readAccountsSearch,
    screen(() => import('./screens/operator/accounts.tsx'), 'AccountsScreen'),
  ),
  ofOperator(
    '/usage',
    readMarginSearch,
    screen(() => import('./screens/operator/margin.tsx'), 'MarginScreen'),
  ),
  ofOperator(
    '/purchases',
    readPurchasesSearch,
    screen(() => import('./screens/operator/purchases.tsx'), 'PurchasesScreen'),
  ),
  ofOperator(
    '/codes',
    readNothing,
    screen(() => import('./screens/operator/codes.tsx'), 'CodesScreen'),
  ),
  ofOperator(
    '/activity',
    readAllActivitySearch,
    screen(() => import('./screens/activity/activity.tsx'), 'ActivityScreen'),
  ),
  ofOperator(
    '/unsettled',
    readNothing,
    screen(() => import('./screens/operator/unsettled.tsx'), 'UnsettledScreen'),
  ),
  ofOperator(
    '/models',
    readOfferedSearch,
    screen(() => import('./screens/models/offered-models.tsx'), 'OfferedModelsScreen'),
  ),
  ofOperator(
    '/upstreams',
    readNothing,
    screen(() => import('./screens/operator/upstreams.tsx'), 'UpstreamsScreen'),
  ),
  ofOperator(
    '/upstreams/$name',
    readNothing,
    screen(() => import('./screens/operator/upstreams.tsx'), 'OneUpstreamScreen'),
  ),
  ofOperator(
    '/health',
    readNothing,
    screen(() => import('./screens/operator/health.tsx'), 'HealthScreen'),
  ),
  ofOperator(
    '/webhooks',
    readNothing,
    screen(() => import('./screens/operator/webhooks.tsx'), 'WebhooksScreen'),
  ),
  ofOperator(
    '/webhooks/$id',
    readNothing,
    screen(() => import('./screens/operator/webhook.tsx'), 'OneWebhookScreen'),
  ),
  ofOperator(
    '/tokens',
    readNothing,
    screen(() => import('./screens/operator/tokens.tsx'), 'TokensScreen'),
  ),
  ofOperator(
    '/operators',
    readNothing,
    screen(() => import('./screens/operator/operators.tsx'), 'OperatorsScreen'),
  ),
  ofOperator(
    '/audit-log',
    readAuditLogSearch,
    screen(() => import('./screens/operator/audit-log.tsx'), 'AuditLogScreen'),
  ),
] as const

const oneAccount = createRoute({
  getParentRoute: () => operator,
  path: '/accounts/$account',
  ...screen(() => import('./screens/operator/account-frame.tsx'), 'AccountFrame'),
})

const ofAccount = screensOf(oneAccount)

const ACCOUNT_TABS = [
  ofAccount(
    '/',
    readComparedSearch,
    screen(() => import('./screens/operator/account-summary.tsx'), 'AccountSummary'),
  ),
  ofAccount(
    '/usage',
    readUsageSearch,
    screen(() => import('./screens/usage/usage.tsx'), 'UsageScreen'),
  ),
  ofAccount(
    '/activity',
    readOperatorActivitySearch,
    screen(() => import('./screens/activity/activity.tsx'), 'ActivityScreen'),
  ),
  ofAccount(
    '/keys',
    readKeysSearch,
    screen(() => import('./screens/keys/keys.tsx'), 'KeysScreen'),
  ),
  ofAccount(
    '/credit',
    readCreditHistorySearch,
    screen(() => import('./screens/operator/account-credit.tsx'), 'AccountCredit'),
  ),
  ofAccount(
    '/members',
    readMembersSearch,
    screen(() => import('./screens/members/members.tsx'), 'MembersScreen'),
  ),
  ofAccount(
    '/settings',
    readNothing,
    screen(() => import('./screens/operator/account-settings.tsx'), 'AccountSettings'),
  ),
] as const

/** The pages of operators and their addresses. */
export const operatorRoutes = operator.addChildren([
  ...OPERATOR_SCREENS,
  oneAccount.addChildren(ACCOUNT_TABS),
])
