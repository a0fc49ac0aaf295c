import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import {
  accountsQuery,
  foundKeysQuery,
  offeredModelsQuery,
  purchaseQuery,
} from '../api/operator.ts'
import { keyPagesQuery, keysQuery, modelsQuery } from '../api/queries.ts'
import type { IconName } from '../parts/icon.tsx'
import { useSettled } from '../parts/use-settled.ts'
import type { ActivitySearch } from '../screens/activity/search.ts'
import { useKeptRange } from './kept-range.ts'
import type { Navigation } from './section-links.tsx'
import { OPERATOR_SECTIONS } from './sections.ts'
import { useMe } from './use-account.ts'

/** Something that the palette opens. */
interface Entry {
  readonly id: string
  readonly icon: IconName
  readonly text: string
  /** Its kind: "Account". */
  readonly note: string
  readonly open: () => void
}

const OF_A_KIND_MAX = 6
const SEARCH_AFTER_MS = 150
const PURCHASE_ID = /^pur_[0-9a-z]{20,32}$/

/** The results of one kind, so far. */
interface Found {
  readonly entries: readonly Entry[]
  readonly isSearching: boolean
}

const NONE: Found = { entries: [], isSearching: false }

/** Words by which people look for sections and actions whose names do not have them. */
const OTHER_WORDS: Readonly<Partial<Record<string, string>>> = {
  '/$account/activity': 'requests errors log',
  '/$account/usage': 'cost report spend',
  '/$account/keys': 'limit allowance budget',
  '/$account/credit': 'balance billing statement receipt invoice payment refund',
  '/$account/connect': 'sdk sample code',
  '/operator/usage': 'revenue profit cost report',
  '/operator/purchases': 'sales payment receipt invoice refund dispute',
  '/operator/models': 'fee',
  '/operator/audit-log': 'who changed history fee',
  '/operator/upstreams': 'provider',
  'add-credit': 'top-up buy',
  profile: 'password sessions sign out alert email name address second factor passkey leave',
}

/** The entries that match the text, best known first; without a text, the sections and actions. */
export function usePaletteEntries(navigation: Navigation, text: string): Found {
  const wanted = text.trim().toLowerCase()
  const sections = useSectionEntries(navigation)
  const actions = useActionEntries(navigation)
  const accounts = useAccountEntries(wanted)
  const keys = useKeyEntries(navigation.accountId, wanted)
  const keysOfAll = useKeysOfAll(navigation.accountId, text.trim())
  const models = useModelEntries(navigation.accountId, wanted)
  const byId = useIdEntries(navigation.accountId, text.trim())
  const purchases = usePurchaseEntries(navigation.accountId, text.trim())
  const matching = (entries: readonly Entry[]) =>
    entries.filter(
      ({ id, text: shown }) =>
        shown.toLowerCase().includes(wanted) ||
        (wanted.length > 1 && ` ${OTHER_WORDS[id] ?? ''}`.includes(` ${wanted}`)),
    )
  if (wanted === '') return { entries: [...sections, ...actions], isSearching: false }
  const searched = [accounts, keys, keysOfAll, models, purchases]
  const named = [matching(sections), matching(actions)]
  const kinds = [...named, keys.entries, keysOfAll.entries, matching(models.entries)]
  const found = kinds.flatMap((entries) => entries.slice(0, OF_A_KIND_MAX))
  const first = [...byId, ...purchases.entries, ...found.slice(0, 12)]
  const shown = [...first, ...accounts.entries.slice(0, OF_A_KIND_MAX)]
  return {
    entries: shown.filter(({ id }, at) => shown.findIndex((other) => other.id === id) === at),
    isSearching: searched.some(({ isSearching }) => isSearching),
  }
}

function useSectionEntries({ accountId, sections }: Navigation): readonly Entry[] {
  const navigate = useNavigate()
  const searchTo = useKeptRange()
  const { user } = useMe()
  const others = accountId !== null && user.is_operator ? OPERATOR_SECTIONS : []
  const params = accountId === null ? {} : { account: accountId }
  const own = sections.map(({ to, text, icon }) => ({
    id: to,
    icon,
    text,
    note: 'Section',
    open: () => void navigate({ to, params, search: searchTo(to) }),
  }))
  const operators = others.map(({ to, text, icon }) => ({
    id: to,
    icon,
    text,
    note: 'Operator',
    open: () => void navigate({ to }),
  }))
  return [...own, ...operators]
}

function useActionEntries({ accountId, sections }: Navigation): readonly Entry[] {
  const navigate = useNavigate()
  const { account } = useParams({ strict: false })
  const invite = { id: 'invite', icon: 'plus', text: 'Invite a member', note: 'Action' } as const
  const search = { invite: true } as const
  const profile = {
    id: 'profile',
    icon: 'user',
    text: 'Profile',
    note: 'Section',
    open: () => void navigate({ to: '/profile' }),
  } as const
  if (accountId === null) {
    const to = '/operator/accounts/$account/members'
    const open = () => void navigate({ to, params: { account: account ?? '' }, search })
    return [
      ...(account === undefined ? [] : [{ ...invite, open }]),
      {
        id: 'create-account',
        icon: 'plus',
        text: 'Create account',
        note: 'Action',
        open: () => void navigate({ to: '/operator/accounts', search: { create: true } }),
      },
      profile,
    ]
  }
  const params = { account: accountId }
  const invitesMembers = sections.some(({ to }) => to === '/$account/members')
  const open = () => void navigate({ to: '/$account/members', params, search })
  return [
    ...(invitesMembers ? [{ ...invite, open }] : []),
    {
      id: 'create-key',
      icon: 'plus',
      text: 'Create key',
      note: 'Action',
      open: () => void navigate({ to: '/$account/keys', params, search: { create: true } }),
    },
    {
      id: 'add-credit',
      icon: 'plus',
      text: 'Add credit',
      note: 'Action',
      open: () => void navigate({ to: '/$account/credit', params, search: { open: 'buy' } }),
    },
    profile,
  ]
}

/** The user's own accounts, and for operators all that the server finds. */
function useAccountEntries(wanted: string): Found {
  const navigate = useNavigate()
  const { accounts, user } = useMe()
  const searched = useSettled(wanted, SEARCH_AFTER_MS)
  const { data, isLoading } = useInfiniteQuery({
    ...accountsQuery(searched),
    enabled: user.is_operator && searched !== '',
  })
  const all = searched === '' ? [] : (data?.pages.flatMap((page) => page.data) ?? [])
  const own = accounts.filter(
    ({ id, name }) => name.toLowerCase().includes(wanted) || id.includes(wanted),
  )
  const entries = [
    ...own.map(({ id, name }) => ({
      id: `own ${id}`,
      icon: 'users' as const,
      text: name,
      note: 'Own account',
      open: () => void navigate({ to: '/$account/overview', params: { account: id } }),
    })),
    ...all.map(({ id, name }) => ({
      id,
      icon: 'users' as const,
      text: name,
      note: 'Account',
      open: () => void navigate({ to: '/operator/accounts/$account', params: { account: id } }),
    })),
  ]
  return { entries, isSearching: user.is_operator && (searched !== wanted || isLoading) }
}

/** The keys of an account whose name has the text, or whose ID begins with it. */
function useKeyEntries(accountId: string | null, wanted: string): Found {
  const navigate = useNavigate()
  const { data, isLoading } = useQuery({
    ...keysQuery(accountId ?? ''),
    enabled: accountId !== null,
  })
  const searched = useSettled(wanted, SEARCH_AFTER_MS)
  // Of an account with more keys than a page of the list, the server finds the others.
  const isAsked = accountId !== null && data?.has_more === true && searched !== ''
  const more = useInfiniteQuery({ ...keyPagesQuery(accountId ?? '', searched), enabled: isAsked })
  const isLater = data?.has_more === true && searched !== wanted
  if (accountId === null) return NONE
  const found = isAsked ? (more.data?.pages.flatMap((page) => page.data) ?? []) : []
  const matching = [...(data?.data ?? []), ...found].filter(
    ({ id, name }) => name.toLowerCase().includes(wanted) || id.startsWith(wanted),
  )
  const entries = matching.map(({ id, name }) => ({
    id,
    icon: 'key' as const,
    text: name,
    note: 'Key',
    open: () =>
      void navigate({
        to: '/$account/activity',
        params: { account: accountId },
        search: { range: '30d', key: [id] },
      }),
  }))
  return { entries, isSearching: isLoading || more.isLoading || isLater }
}

/** On the pages of operators, the keys of all accounts that the server finds. */
function useKeysOfAll(accountId: string | null, text: string): Found {
  const navigate = useNavigate()
  const searched = useSettled(text, SEARCH_AFTER_MS)
  const isAsked = accountId === null && searched !== ''
  const { data, isLoading } = useQuery({ ...foundKeysQuery(searched), enabled: isAsked })
  if (accountId !== null) return NONE
  const keys = isAsked ? (data?.data ?? []) : []
  const entries = keys.map(({ id, name, account_id: account, account_name: of }) => ({
    id,
    icon: 'key' as const,
    text: name,
    note: `Key of ${of ?? account}`,
    open: () =>
      void navigate({ to: '/operator/activity', search: { range: '30d', account, key: [id] } }),
  }))
  return { entries, isSearching: searched !== text || isLoading }
}

function useModelEntries(accountId: string | null, wanted: string): Found {
  const navigate = useNavigate()
  const own = useQuery({ ...modelsQuery(accountId ?? ''), enabled: accountId !== null })
  const offered = useQuery({
    ...offeredModelsQuery,
    enabled: accountId === null && wanted !== '',
  })
  const { data, isLoading } = accountId === null ? offered : own
  const ids = new Set(data?.data.map(({ id }) => id))
  const entries = [...ids].map((id) => ({
    id,
    icon: 'models' as const,
    text: id,
    note: 'Model',
    open: () =>
      accountId === null
        ? void navigate({ to: '/operator/models', search: { model: id } })
        : void navigate({
            to: '/$account/models',
            params: { account: accountId },
            search: { model: id },
          }),
  }))
  return { entries, isSearching: isLoading }
}

/** On the pages of operators, the purchase of an ID: its receipt, or where it is decided about. */
function usePurchaseEntries(accountId: string | null, text: string): Found {
  const navigate = useNavigate()
  const isAsked = accountId === null && PURCHASE_ID.test(text)
  const { data, isLoading } = useQuery({ ...purchaseQuery(text), enabled: isAsked })
  if (!isAsked || data === undefined) return { entries: [], isSearching: isLoading }
  const { id, account_id: account, state } = data
  const entry = { id, icon: 'credit', text: id } as const
  if (state === 'credited') {
    const to = '/operator/accounts/$account/credit'
    const open = () => void navigate({ to, params: { account }, search: { receipt: id } })
    return { entries: [{ ...entry, note: 'Receipt', open }], isSearching: false }
  }
  const isOnHold = state === 'held' || state === 'below_minimum'
  const search = isOnHold ? {} : { list: 'all' as const }
  const open = () => void navigate({ to: '/operator/purchases', search })
  const note = isOnHold ? 'Purchase on hold' : 'Purchase'
  return { entries: [{ ...entry, note, open }], isSearching: false }
}

/** A whole ID that was typed or pasted opens what it names. */
function useIdEntries(accountId: string | null, text: string): readonly Entry[] {
  const navigate = useNavigate()
  const { user } = useMe()
  const [, kind] = /^(req|key|pur|acct)_[0-9a-z]{20,32}$/.exec(text) ?? []
  const entry = (icon: IconName, note: string, open: () => void) => [
    { id: text, icon, text, note, open },
  ]
  if (kind === 'acct') {
    return entry('users', 'Account', () =>
      user.is_operator
        ? void navigate({ to: '/operator/accounts/$account', params: { account: text } })
        : void navigate({ to: '/$account/overview', params: { account: text } }),
    )
  }
  const look = (search: ActivitySearch) =>
    accountId === null
      ? void navigate({ to: '/operator/activity', search })
      : void navigate({ to: '/$account/activity', params: { account: accountId }, search })
  switch (kind) {
    case 'req':
      return entry('activity', 'Request', () => look({ range: 'all', request: text }))
    case 'key':
      return entry('key', 'Requests of the key', () => look({ range: '30d', key: [text] }))
    case 'pur': {
      if (accountId === null) return []
      const params = { account: accountId }
      const search = { receipt: text }
      return entry(
        'credit',
        'Receipt',
        () => void navigate({ to: '/$account/credit', params, search }),
      )
    }
    default:
      return []
  }
}
