import type { Page } from '../../api/answers.ts'
import { currentTime } from '../../api/clock.ts'
import type {
  Audit,
  Health,
  ListedAccount,
  ListedPurchase,
  ListedUpstream,
  UnsettledRequest,
  Webhook,
} from '../../api/operator.ts'
import { refusedWithoutCredit } from '../../format/debt.ts'
import { money } from '../../format/money.ts'
import { count, counted } from '../../format/numbers.ts'
import { dayAndShortMinute } from '../../format/time.ts'
import type { Need } from '../../parts/needs-list.tsx'
import { byMethod } from '../credit/purchase-words.ts'
import { CHECKS } from './checks.ts'

/** The state of the gateway; undefined: not loaded yet. */
export interface Known {
  readonly upstreams: readonly ListedUpstream[] | undefined
  readonly held: Page<ListedPurchase> | undefined
  readonly unsettled: Page<UnsettledRequest> | undefined
  readonly debtors: Page<ListedAccount> | undefined
  /** Accounts of which many requests were refused or failed. */
  readonly failing: Page<ListedAccount> | undefined
  /** Accounts whose credit is low, the lowest first. */
  readonly low: Page<ListedAccount> | undefined
  readonly health: Health | undefined
  /** The last audit of this browser; undefined: none was run. */
  readonly audit: Audit | undefined
  readonly webhooks: readonly Webhook[] | undefined
}

/** The items that need attention, the most urgent first. */
export function attentionOf(known: Known): readonly Need[] {
  const items = [
    ...(known.upstreams ?? []).flatMap(ofUpstream),
    ...(known.audit === undefined ? [] : ofAudit(known.audit)),
    ...(known.health === undefined ? [] : ofHealth(known.health)),
    ...(known.held === undefined ? [] : ofPurchases(known.held)),
    ...(known.unsettled === undefined ? [] : ofUnsettled(known.unsettled)),
    ...(known.webhooks ?? []).flatMap(ofWebhook),
    ...(known.failing === undefined ? [] : ofFailing(known.failing)),
    ...(known.debtors === undefined ? [] : ofDebtors(known.debtors)),
    ...(known.low === undefined ? [] : ofLow(known.low)),
  ]
  const urgency = { bad: 0, wait: 1, info: 2 }
  return items.toSorted((one, other) => urgency[one.tone] - urgency[other.tone])
}

function ofUpstream(upstream: ListedUpstream): readonly Need[] {
  const { name, state, requests, failed, last_failure: failure } = upstream
  const link = { to: '/operator/upstreams/$name', params: { name } } as const
  const item = (tone: 'bad' | 'wait', title: string, note: string) => [
    { tone, icon: 'upstream' as const, title, note, link },
  ]
  switch (state) {
    case 'healthy':
      return []
    case 'failing': {
      const last = failure === null ? '' : ` Last: ${failure.code}, ${shortTime(failure.at)}.`
      const note = `${counted(failed, 'request')} failed in the last 24 hours.${last}`
      return item('bad', `${name} ${failsWords(requests, failed)}`, note)
    }
    case 'unreachable':
      return item(
        'bad',
        `${name} is unreachable`,
        'No request of the last 15 minutes was answered.',
      )
    case 'no_models': {
      const note = 'It does not answer, or its list has no prices: run tollgate upstream check.'
      return item('bad', `${name} lists no models`, note)
    }
    case 'key_refused':
      return item('bad', `${name} refuses its key`, 'Requests to it fail until it has a new key.')
    case 'credit_low':
      return item('wait', `${name} has little credit left`, 'Add credit to its account there.')
  }
}

/** `fails 1 in 8 requests`, `fails most requests`, `fails every request`. By position: all requests, and the failed ones. */
function failsWords(requests: number, failed: number): string {
  if (failed === 0) return 'fails'
  if (failed === requests) return 'fails every request'
  const one = Math.round(requests / failed)
  return one === 1 ? 'fails most requests' : `fails 1 in ${one} requests`
}

function ofAudit({ ok, differences }: Audit): readonly Need[] {
  if (ok) return []
  const title = `The ledger audit found ${counted(differences.length, 'difference')}`
  const note = 'Keep a copy of the store, and look at the log.'
  return [{ tone: 'bad', icon: 'shield', title, note, link: { to: '/operator/health' } }]
}

function ofHealth({ checks, catalog: { doubted }, costs }: Health): readonly Need[] {
  const link = { to: '/operator/health' } as const
  const failed = checks
    .filter(({ ok, message }) => !ok || message !== null)
    .map(({ name, ok, message }) => ({
      tone: ok ? ('wait' as const) : ('bad' as const),
      icon: 'shield' as const,
      title: `${CHECKS[name] ?? name}: ${ok ? 'warning' : 'fault'}`,
      note: message ?? 'The check failed.',
      link,
    }))
  const prices: readonly Need[] =
    doubted.length === 0
      ? []
      : [
          {
            tone: 'wait',
            icon: 'models',
            title: `${counted(doubted.length, 'model')} with doubted prices`,
            note: doubted.slice(0, 3).join(', '),
            link,
          },
        ]
  const usage: readonly Need[] =
    costs.key_usage_agrees === false
      ? [
          {
            tone: 'wait',
            icon: 'shield',
            title: 'The upstream’s usage differs from the booked costs',
            note: 'The usage of the upstream’s key rose by a different amount.',
            link,
          },
        ]
      : []
  return [...failed, ...prices, ...usage]
}

function shortTime(at: string): string {
  return dayAndShortMinute(new Date(at), currentTime())
}

const NAMED = 2

function ofPurchases({ data, has_more: hasMore }: NonNullable<Known['held']>) {
  if (data.length === 0) return []
  const verb = data.length === 1 ? 'is' : 'are'
  const item: Need = {
    tone: 'wait',
    icon: 'credit',
    title: `${countedOf(data.length, hasMore, 'purchase')} ${verb} on hold`,
    note: data
      .slice(0, NAMED)
      .map((one) => `${one.account_name}, ${money(one.credit)} ${byMethod(one)}`)
      .join(' · '),
    link: { to: '/operator/purchases' },
  }
  return [item]
}

function ofUnsettled({ data, has_more: hasMore }: NonNullable<Known['unsettled']>) {
  if (data.length === 0) return []
  const heldMicros = data.reduce((sum, { held }) => sum + held, 0)
  const [next] = data
    .filter(({ state }) => state === 'unresolved')
    .map(({ stands_at: at }) => at)
    .toSorted()
  const release = next === undefined ? '' : ` The next is released by ${shortTime(next)}.`
  const areCharged = !hasMore && data.every(({ state }) => state === 'provisional')
  const item: Need = {
    tone: 'wait',
    icon: 'clock',
    title: countedOf(data.length, hasMore, 'unsettled request'),
    note:
      heldMicros === 0 && areCharged
        ? `Nothing is held: ${data.length === 1 ? 'it is' : 'they are'} charged already, by an estimate.`
        : `${hasMore ? 'At least ' : ''}${money(heldMicros)} is held.${release}`,
    link: { to: '/operator/unsettled' },
  }
  return [item]
}

/** `3 purchases`, `50 or more purchases`. */
function countedOf(rows: number, hasMore: boolean, noun: string): string {
  return hasMore ? `${rows} or more ${noun}s` : counted(rows, noun)
}

function ofWebhook({ id, url, disabled, failing }: Webhook): readonly Need[] {
  if (disabled || failing === null) return []
  const link = { to: '/operator/webhooks/$id', params: { id } } as const
  const note = `Since ${shortTime(failing.since)}: ${failing.failure}.`
  return [
    { tone: 'wait', icon: 'send', title: `Webhook ${new URL(url).host} is failing`, note, link },
  ]
}

const FAILING_NAMED = 3

/** The accounts with the most refused and failed requests, and how many others there are. */
function ofFailing({ data, has_more: hasMore }: NonNullable<Known['failing']>): readonly Need[] {
  const failing = data.flatMap(({ id, name, failing: counts }) =>
    counts === undefined ? [] : [{ id, name, ...counts }],
  )
  const worst = failing.toSorted(
    (one, other) => other.refused + other.failed - one.refused - one.failed,
  )
  const others = worst.slice(FAILING_NAMED)
  const items = worst.slice(0, FAILING_NAMED).map(({ id, name, ...counts }): Need => {
    const { requests, refused, failed, code } = counts
    const reason = code === null ? '' : ` Most frequent reason: ${code}.`
    const parts = [
      ...(refused === 0 ? [] : [`${count(refused)} refused`]),
      ...(failed === 0 ? [] : [`${count(failed)} failed`]),
    ]
    return {
      tone: 'wait',
      icon: 'users',
      title: `${name}: ${parts.join(', ')}`,
      note: `Of ${counted(requests, 'request')} in the last 24 hours.${reason}`,
      link: {
        to: '/operator/accounts/$account/activity',
        params: { account: id },
        search: refused > 0 ? {} : { failed: true },
      },
    }
  })
  if (others.length === 0) return items
  const more: Need = {
    tone: 'wait',
    icon: 'users',
    title: `${othersOf(others, hasMore)} with refused or failed requests`,
    note: others
      .slice(0, NAMED)
      .map(({ name }) => name)
      .join(' · '),
    link: { to: '/operator/accounts', search: { state: 'failing' } },
  }
  return [...items, more]
}

const DEBTORS_NAMED = 3

/** The accounts with the largest debts, and how many others there are. */
function ofDebtors({ data, has_more: hasMore }: NonNullable<Known['debtors']>): readonly Need[] {
  const debtors = data.toSorted(
    (one, other) => one.credit.backed.balance - other.credit.backed.balance,
  )
  const items = debtors.slice(0, DEBTORS_NAMED).map(
    ({ id, name, credit }): Need => ({
      tone: 'info',
      icon: 'users',
      title: `${name} owes ${money(-credit.backed.balance)}`,
      note: refusedWithoutCredit(credit),
      link: { to: '/operator/accounts/$account', params: { account: id } },
    }),
  )
  const others = debtors.slice(DEBTORS_NAMED)
  if (others.length === 0) return items
  const more: Need = {
    tone: 'info',
    icon: 'users',
    title: `${othersOf(others, hasMore)} in debt`,
    note: others
      .slice(0, NAMED)
      .map(({ name, credit }) => `${name}, ${money(credit.backed.balance)}`)
      .join(' · '),
    link: { to: '/operator/accounts', search: { state: 'in_debt', sort: 'available' } },
  }
  return [...items, more]
}

/** `47 more accounts`, `At least 47 more accounts`. */
function othersOf({ length }: readonly unknown[], hasMore: boolean): string {
  return `${hasMore ? 'At least ' : ''}${counted(length, 'more account')}`
}

function ofLow({ data, has_more: hasMore }: NonNullable<Known['low']>): readonly Need[] {
  if (data.length === 0) return []
  const item: Need = {
    tone: 'info',
    icon: 'credit',
    title: `${countedOf(data.length, hasMore, 'account')} with low credit`,
    note: data
      .slice(0, NAMED)
      .map(({ name, credit }) => `${name}, ${money(credit.backed.available)}`)
      .join(' · '),
    link: { to: '/operator/accounts', search: { state: 'low_credit', sort: 'available' } },
  }
  return [item]
}
