import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import { currentMs } from '../../api/clock.ts'
import { type OfferedModel, offeredModelsQuery, operatorReportQuery } from '../../api/operator.ts'
import { setFields } from '../../format/address.ts'
import { count, percentOf } from '../../format/numbers.ts'
import { pricesText } from '../../format/prices.ts'
import { MoreRows, useFirstRows } from '../../parts/first-rows.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Empty, PartFailed } from '../../parts/states.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { ModelFilters } from './model-filters.tsx'
import { type ModelUses, matchingModels, ownName } from './model-list.ts'
import { NotOffered } from './not-offered.tsx'
import { OfferedDrawer } from './offered-drawer.tsx'
import type { OfferedSearch } from './search.ts'

const route = getRouteApi('/operator/models')

const HEADS = [
  { text: 'Model' },
  { text: 'Upstream', className: 'beside hide-t' },
  { text: 'Provider price', className: 'num' },
  { text: 'Fee', className: 'beside num hide-t' },
  { text: 'Charged price', className: 'num' },
] as const

type Change = { readonly [K in keyof OfferedSearch]?: OfferedSearch[K] | undefined }

/** Every model at each of its upstreams: what the provider asks for it, the fee, and what accounts are charged. */
export function OfferedModelsScreen() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(offeredModelsQuery)
  const isOffered = search.list === undefined
  const change = (part: Change, { replace = true } = {}) =>
    void navigate({ search: setFields({ ...search, ...part }), replace, resetScroll: false })
  return (
    <>
      <ScreenTop title="Models and prices">
        {query.data !== undefined && (
          <Segments
            label="List"
            options={[
              { value: 'offered', text: `Offered ${count(query.data.data.length)}` },
              { value: 'not_offered', text: `Not offered ${count(query.data.not_offered.length)}` },
            ]}
            value={search.list ?? 'offered'}
            onChange={(list) =>
              change({ list: list === 'offered' ? undefined : list, model: undefined })
            }
          />
        )}
      </ScreenTop>
      {isOffered ? (
        <Offered search={search} onChange={change} />
      ) : (
        <NotOffered
          query={query}
          find={search.find ?? ''}
          onFind={(find) => change({ find: find === '' ? undefined : find })}
        />
      )}
    </>
  )
}

interface OfferedProps {
  readonly search: OfferedSearch
  readonly onChange: (part: Change, how?: { readonly replace: boolean }) => void
}

function Offered({ search, onChange }: OfferedProps) {
  const query = useQuery(offeredModelsQuery)
  const models = query.data?.data
  const { uses, query: usage } = useUses()
  const first = useFirstRows(models && matchingModels(models, search, uses))
  const opened = models?.find((model) => isOpened(model, search))
  const close = () => onChange({ model: undefined, upstream: undefined })
  useShortcuts(opened === undefined ? {} : { Escape: close })
  return (
    <>
      <ModelFilters
        models={models ?? []}
        search={search}
        finds="Model or upstream"
        onChange={(part) => onChange(part, { replace: 'find' in part })}
      />
      <div className={opened === undefined ? 'act' : 'act open'}>
        <ListCard
          label="Models and prices"
          className="opens"
          query={query}
          rows={first.shown}
          failed="The models could not be loaded."
          empty={<Nothing isEmpty={models?.length === 0} />}
          header={<PartFailed what="The use of the models" query={usage} />}
          heads={HEADS}
          greyRows={8}
          row={(model) => (
            <Row
              key={`${model.upstream} ${model.id}`}
              model={model}
              search={search}
              onOpen={() =>
                onChange(
                  { model: model.id, upstream: model.upstream },
                  { replace: opened !== undefined },
                )
              }
            />
          )}
        >
          <MoreRows rows={first} noun="model" />
          <p className="pager">
            <span className="wrap-anywhere">
              Dollars per million tokens, input → output. The charged price applies to accounts
              without their own fee. Fees are set with{' '}
              <span className="mono">TOLLGATE_FEE_BPS</span> and{' '}
              <span className="mono">TOLLGATE_MODEL_FEES_BPS</span>, and an account’s own fee in its
              settings.
            </span>
          </p>
        </ListCard>
        {opened !== undefined && (
          <OfferedDrawer key={`${opened.upstream} ${opened.id}`} model={opened} onClose={close} />
        )}
      </div>
    </>
  )
}

/** Whether the address opens it: links that have no upstream open the first of its models. */
function isOpened({ id, upstream }: OfferedModel, search: OfferedSearch): boolean {
  return id === search.model && upstream === (search.upstream ?? upstream)
}

/** The usage of each model by all accounts in the last 30 days. */
function useUses() {
  const span = lastDays(30, { nowMs: currentMs() })
  const query = useQuery(operatorReportQuery(span, { by: 'model', account: null }))
  const uses: ModelUses = new Map(
    query.data?.data.map(({ id, figures: { requests, charge } }) => [
      id ?? '',
      { requests, chargeMicros: charge, firstByteMs: null },
    ]),
  )
  return { uses, query }
}

/** No model matches, or the catalog itself has none. */
function Nothing({ isEmpty }: { readonly isEmpty: boolean }) {
  return isEmpty ? (
    <Empty title="The catalog is empty.">
      <p>
        No upstream lists models yet. <code>tollgate upstream check</code> says why.
      </p>
    </Empty>
  ) : (
    <Empty title="No model matches.">
      <Link className="btn" to="/operator/models" search={{}}>
        Clear filters
      </Link>
    </Empty>
  )
}

interface RowProps {
  readonly model: OfferedModel
  readonly search: OfferedSearch
  readonly onOpen: () => void
}

function Row({ model, search, onOpen }: RowProps) {
  const { id, upstream, architecture, doubted, stale } = model
  const name = ownName(model)
  const { fee_basis_points: feeBasisPoints, provider_pricing: pricing } = model
  return (
    <tr
      aria-current={isOpened(model, search) ? 'true' : undefined}
      onClick={(event) => {
        if (!event.defaultPrevented) onOpen()
      }}
    >
      <td className="model name" title={id}>
        <Link
          className="open-it"
          to="/operator/models"
          search={{ ...search, model: id, upstream }}
          replace={search.model !== undefined}
          resetScroll={false}
        >
          <ModelName id={id} />
        </Link>
        {name !== null && <small className="two">{name}</small>}
        {(doubted || stale) && (
          // Never cut, unlike the names.
          <small className="two wrap-anywhere">
            {doubted && <span className="text-wait">doubted price</span>}
            {stale && <span className="text-bad">{doubted && ' · '}prices too old</span>}
          </small>
        )}
        <small className="two only-t">
          {upstream}, fee {percentOf(feeBasisPoints)}
        </small>
      </td>
      <td className="beside hide-s hide-t text-ink-2">{upstream}</td>
      <td className="num hide-s">{pricesText({ pricing, architecture })}</td>
      <td className="beside num hide-s hide-t">{percentOf(feeBasisPoints)}</td>
      <td className="num max-[641px]:whitespace-nowrap">{pricesText(model)}</td>
      <td className="only-s wide dimmed">
        {upstream} · {pricesText({ pricing, architecture })}, fee {percentOf(feeBasisPoints)}
      </td>
    </tr>
  )
}
