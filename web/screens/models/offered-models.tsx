import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type OfferedModel, offeredModelsQuery } from '../../api/operator.ts'
import { counted, percentOf } from '../../format/numbers.ts'
import { pricesText } from '../../format/prices.ts'
import { FindField } from '../../parts/find-field.tsx'
import { MoreRows, useFirstRows } from '../../parts/first-rows.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Empty } from '../../parts/states.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'

const route = getRouteApi('/operator/models')

const HEADS = [
  { text: 'Model' },
  { text: 'Upstream', className: 'beside hide-t' },
  { text: 'Provider price', className: 'num' },
  { text: 'Fee', className: 'num hide-t' },
  { text: 'Charged price', className: 'num' },
] as const

/** Every model at each of its upstreams: what the provider asks for it, the fee, and what accounts are charged. */
export function OfferedModelsScreen() {
  const { find = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(offeredModelsQuery)
  const models = query.data?.data
  const wanted = find.trim().toLowerCase()
  const found = models?.filter(({ id, name, upstream }) =>
    `${id} ${name} ${upstream}`.toLowerCase().includes(wanted),
  )
  const first = useFirstRows(found)
  const look = (text: string) =>
    void navigate({ search: text === '' ? {} : { find: text }, replace: true, resetScroll: false })
  return (
    <>
      <ScreenTop title="Models and prices">
        {models !== undefined && <p className="note">{counted(models.length, 'model')}</p>}
      </ScreenTop>
      <div className="filters">
        <FindField label="Model or upstream" value={find} onChange={look} />
        <p className="note">
          Dollars per million tokens, input → output. The charged price applies to accounts that use
          the model’s fee.
        </p>
      </div>
      <ListCard
        label="Models and prices"
        query={query}
        rows={first.shown}
        failed="The models could not be loaded."
        empty={
          <Empty title={models?.length === 0 ? 'The catalog is empty.' : 'No model matches.'}>
            {models?.length === 0 ? (
              <p>No upstream lists models yet. The log says why.</p>
            ) : (
              <button type="button" className="btn" onClick={() => look('')}>
                Clear filters
              </button>
            )}
          </Empty>
        }
        heads={HEADS}
        greyRows={8}
        row={(model) => <Row key={`${model.upstream} ${model.id}`} model={model} />}
      >
        <MoreRows rows={first} noun="model" />
      </ListCard>
    </>
  )
}

function Row({ model }: { model: OfferedModel }) {
  const { id, name, upstream, architecture, doubted } = model
  const { fee_basis_points: feeBasisPoints, provider_pricing: pricing } = model
  return (
    <tr>
      <td className="model name" title={id}>
        <ModelName id={id} />
        <small className="two">
          {name}
          {doubted && <span className="text-wait"> · doubted price</span>}
        </small>
        <small className="two only-t">
          {upstream}, fee {percentOf(feeBasisPoints)}
        </small>
      </td>
      <td className="beside hide-s hide-t text-ink-2">{upstream}</td>
      <td className="num nowrap hide-s">{pricesText({ pricing, architecture })}</td>
      <td className="num hide-s hide-t">{percentOf(feeBasisPoints)}</td>
      <td className="num nowrap">{pricesText(model)}</td>
      <td className="only-s wide dimmed">
        {upstream} · {pricesText({ pricing, architecture })}, fee {percentOf(feeBasisPoints)}
      </td>
    </tr>
  )
}
