import { getRouteApi } from '@tanstack/react-router'
import { readDateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import { hrefOf } from '../../api/calls.ts'
import { type AccountsOrder, accountsInput } from '../../api/operator.ts'
import { setFields, textOf } from '../../format/address.ts'
import { AddButton, CsvLink } from '../../parts/buttons.tsx'
import { FindField } from '../../parts/find-field.tsx'
import { Choose } from '../../parts/pick.tsx'
import { RangePicker } from '../../parts/range-picker.tsx'
import { Segments } from '../../parts/segments.tsx'
import { DEFAULT_RANGE } from '../../searches.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { operatorSpanOf } from '../../shell/use-span.ts'
import { ACCOUNT_ORDERS } from './account-orders.ts'
import { AccountTable } from './accounts-table.tsx'
import { CreateAccount } from './create-account.tsx'
import type { AccountsSearch } from './search.ts'

const route = getRouteApi('/operator/accounts')

/** All accounts, for operators: what each has, holds and spends. */
export function AccountsScreen() {
  const { create = false, ...filters } = route.useSearch()
  const { search = '', state, sort, ...dates } = filters
  const range = readDateRange(dates) ?? DEFAULT_RANGE
  const span = operatorSpanOf(range)
  const asked = accountsInput(search.trim(), { state, sort, span })
  const csv = hrefOf('operator', 'listAccounts', { ...asked, format: 'csv' })
  const navigate = route.useNavigate()
  // Back undoes a choice and closes the form; a typed letter is no step.
  const change = (next: AccountsSearch, { replace = false } = {}) =>
    void navigate({ search: next, replace, resetScroll: false })
  const sortBy = (order: AccountsOrder | undefined) => change(withPart(filters, { sort: order }))
  return (
    <>
      <ScreenTop title="Accounts">
        <RangePicker
          range={range}
          compare={null}
          spanOf={operatorSpanOf}
          onChange={(picked) =>
            change({
              ...setFields({ search: textOf(search), state, sort }),
              ...searchOf(picked.range),
            })
          }
        />
        <CsvLink href={csv} name="accounts.csv" />
        <AddButton onClick={() => change({ ...filters, create: true })}>Create account</AddButton>
      </ScreenTop>
      <Filters filters={filters} onChange={change} />
      <AccountTable
        filters={{ ...filters, search: search.trim() }}
        span={span}
        onCreate={() => change({ ...filters, create: true })}
        onSort={sortBy}
      />
      {create && (
        <CreateAccount
          onClose={() => change(filters, { replace: true })}
          onMade={({ id }) =>
            void navigate({
              to: '/operator/accounts/$account',
              params: { account: id },
              // Back leads to the list, without the form.
              replace: true,
            })
          }
        />
      )}
    </>
  )
}

interface FiltersProps {
  readonly filters: AccountsSearch
  readonly onChange: (filters: AccountsSearch, options?: { readonly replace: boolean }) => void
}

function Filters({ filters, onChange }: FiltersProps) {
  const { search = '', state, sort } = filters
  const states = {
    label: 'State',
    options: STATES,
    value: state ?? 'all',
    onChange: (next: string) => {
      const picked = STATES.find(({ value }) => value === next)?.value
      onChange(withPart(filters, { state: picked === 'all' ? undefined : picked }))
    },
  }
  return (
    <div className="filters">
      <FindField
        label="Name, email or ID"
        placeholder="Search by name, email or ID"
        value={search}
        onChange={(text) =>
          onChange(withPart(filters, { search: textOf(text) }), { replace: true })
        }
      />
      <Segments {...states} className="hide-s" />
      {/* A phone has no room for all states next to each other, and shows no heads. */}
      <span className="only-s flex flex-wrap gap-2">
        <Choose {...states} unset="all" />
        <Choose
          label="Sort"
          unset=""
          options={[{ value: '', text: 'Newest' }, ...ACCOUNT_ORDERS]}
          value={sort ?? ''}
          onChange={(value) => {
            const order = ACCOUNT_ORDERS.find((each) => each.value === value)
            onChange(withPart(filters, { sort: order?.value }))
          }}
        />
      </span>
    </div>
  )
}

type Part = { readonly [Name in keyof AccountsSearch]?: AccountsSearch[Name] | undefined }

/** A search with another part; undefined takes it away. */
function withPart(search: AccountsSearch, part: Part): AccountsSearch {
  return setFields({ ...search, ...part })
}

const STATES = [
  { value: 'all', text: 'All' },
  { value: 'active', text: 'Active' },
  { value: 'suspended', text: 'Suspended' },
  { value: 'low_credit', text: 'Low credit' },
  { value: 'in_debt', text: 'In debt' },
  { value: 'failing', text: 'Failing' },
] as const
