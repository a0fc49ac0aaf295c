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
  ofOperator('/', readHomeSearch, {
    HomeScreen: () => import('./screens/operator/home.tsx'),
  }),
  ofOperator('/accounts', readAccountsSearch, {
    AccountsScreen: () => import('./screens/operator/accounts.tsx'),
  }),
  ofOperator('/usage', readMarginSearch, {
    MarginScreen: () => import('./screens/operator/margin.tsx'),
  }),
  ofOperator('/purchases', readPurchasesSearch, {
    PurchasesScreen: () => import('./screens/operator/purchases.tsx'),
  }),
  ofOperator('/codes', readNothing, {
    CodesScreen: () => import('./screens/operator/codes.tsx'),
  }),
  ofOperator('/activity', readAllActivitySearch, {
    ActivityScreen: () => import('./screens/activity/activity.tsx'),
  }),
  ofOperator('/unsettled', readNothing, {
    UnsettledScreen: () => import('./screens/operator/unsettled.tsx'),
  }),
  ofOperator('/models', readOfferedSearch, {
    OfferedModelsScreen: () => import('./screens/models/offered-models.tsx'),
  }),
  ofOperator('/upstreams', readNothing, {
    UpstreamsScreen: () => import('./screens/operator/upstreams.tsx'),
  }),
  ofOperator('/upstreams/$name', readNothing, {
    OneUpstreamScreen: () => import('./screens/operator/upstreams.tsx'),
  }),
  ofOperator('/health', readNothing, {
    HealthScreen: () => import('./screens/operator/health.tsx'),
  }),
  ofOperator('/webhooks', readNothing, {
    WebhooksScreen: () => import('./screens/operator/webhooks.tsx'),
  }),
  ofOperator('/webhooks/$id', readNothing, {
    OneWebhookScreen: () => import('./screens/operator/webhook.tsx'),
  }),
  ofOperator('/tokens', readNothing, {
    TokensScreen: () => import('./screens/operator/tokens.tsx'),
  }),
  ofOperator('/operators', readNothing, {
    OperatorsScreen: () => import('./screens/operator/operators.tsx'),
  }),
  ofOperator('/audit-log', readAuditLogSearch, {
    AuditLogScreen: () => import('./screens/operator/audit-log.tsx'),
  }),
] as const

const oneAccount = createRoute({
  getParentRoute: () => operator,
  path: '/accounts/$account',
  ...screen({ AccountFrame: () => import('./screens/operator/account-frame.tsx') }),
})

const ofAccount = screensOf(oneAccount)

const ACCOUNT_TABS = [
  ofAccount('/', readComparedSearch, {
    AccountSummary: () => import('./screens/operator/account-summary.tsx'),
  }),
  ofAccount('/usage', readUsageSearch, {
    UsageScreen: () => import('./screens/usage/usage.tsx'),
  }),
  ofAccount('/activity', readOperatorActivitySearch, {
    ActivityScreen: () => import('./screens/activity/activity.tsx'),
  }),
  ofAccount('/keys', readKeysSearch, {
    KeysScreen: () => import('./screens/keys/keys.tsx'),
  }),
  ofAccount('/credit', readCreditHistorySearch, {
    AccountCredit: () => import('./screens/operator/account-credit.tsx'),
  }),
  ofAccount('/members', readMembersSearch, {
    MembersScreen: () => import('./screens/members/members.tsx'),
  }),
  ofAccount('/settings', readNothing, {
    AccountSettings: () => import('./screens/operator/account-settings.tsx'),
  }),
] as const

/** The pages of operators and their addresses. */
export const operatorRoutes = operator.addChildren([
  ...OPERATOR_SCREENS,
  oneAccount.addChildren(ACCOUNT_TABS),
])
