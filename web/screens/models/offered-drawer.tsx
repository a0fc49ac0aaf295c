import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import { currentMs } from '../../api/clock.ts'
import { type OfferedModel, operatorReportQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, percentOf } from '../../format/numbers.ts'
import { priceLines, pricesTitle, tierLines } from '../../format/prices.ts'
import { ago, dayOf } from '../../format/time.ts'
import { DrawerPart, Line } from '../../parts/drawer-part.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ChooseAccount } from '../../parts/pick-account.tsx'
import { Grey, NotLoaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { Margin } from '../operator/margin-figures.tsx'
import { SPOKEN } from '../playground/formats.ts'
import { ModelDetails } from './model-details.tsx'

interface OfferedDrawerProps {
  readonly model: OfferedModel
  readonly onClose: () => void
}

/** Everything the catalog has of a model at one of its upstreams, and what all accounts have used of it. */
export function OfferedDrawer({ model, onClose }: OfferedDrawerProps) {
  return (
    <ModelDetails
      model={model}
      lead={<Try model={model} />}
      prices={
        <>
          <DrawerPart title="Offer">
            <Offer model={model} />
          </DrawerPart>
          <Prices model={model} />
        </>
      }
      onClose={onClose}
    >
      <DrawerPart title="All accounts, last 30 days">
        <Use modelId={model.id} />
      </DrawerPart>
    </ModelDetails>
  )
}

/** Opens the Playground of an account, whose credit pays for the requests. */
function Try({ model: { id, endpoints } }: Pick<OfferedDrawerProps, 'model'>) {
  const navigate = useNavigate()
  if (!SPOKEN.some((one) => endpoints.includes(one))) return null
  return (
    <div className="acts">
      <ChooseAccount
        className="btn pri"
        onChoose={(account) =>
          void navigate({ to: '/$account/playground', params: { account }, search: { model: id } })
        }
      >
        <Icon name="chat" />
        Try with an account’s credit
      </ChooseAccount>
    </div>
  )
}

function Prices({ model }: Pick<OfferedDrawerProps, 'model'>) {
  const { architecture, pricing, provider_pricing, fee_basis_points: feeBasisPoints } = model
  const linesAt = (prices: typeof pricing) => [
    ...priceLines({ pricing: prices, architecture }),
    ...tierLines({ pricing: prices }),
  ]
  const charged = new Map(linesAt(pricing).map(({ term, text }) => [term, text]))
  const lines = linesAt(provider_pricing)
  return (
    <DrawerPart title={pricesTitle(lines)}>
      {lines.length === 0 ? (
        <p className="note">Free.</p>
      ) : (
        <table className="in-drawer" aria-label="Prices">
          <thead>
            <tr>
              <th scope="col">
                <span className="vh">Price</span>
              </th>
              <th scope="col" className="num">
                Provider
              </th>
              <th scope="col" className="num">
                With fee
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ term, text, isPart }) => (
              <tr key={term}>
                <td className={isPart ? 'sub' : ''}>{term}</td>
                <td className="num">{text}</td>
                <td className="num">{charged.get(term) ?? 'Free'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p className="note mt-2">
        With the model’s fee of {percentOf(feeBasisPoints)}. For an account with its own fee, that
        fee applies.
      </p>
    </DrawerPart>
  )
}

function Offer({ model }: Pick<OfferedDrawerProps, 'model'>) {
  const { upstream, listed_at: listedAt, prices_first_seen_at: seenAt, doubted, stale } = model
  return (
    <>
      <dl className="kv">
        <Line term="Upstream">
          <Link className="link" to="/operator/upstreams/$name" params={{ name: upstream }}>
            {upstream}
          </Link>
        </Line>
        <Line term="Prices listed">
          <Time at={listedAt} show={ago} />
        </Line>
        {seenAt !== null && (
          <Line term="First seen at these prices">
            <Time at={seenAt} show={dayOf} />
          </Line>
        )}
        <Line term="Offered">{stale ? 'no, requests are refused' : 'yes'}</Line>
      </dl>
      {stale && (
        <p className="note mt-2">
          The prices are too old: the upstream no longer lists this model, or its list can’t be
          read. <span className="mono">tollgate upstream check</span> says why.
        </p>
      )}
      {doubted && (
        <p className="note mt-2">
          The upstream lists a figure that is far lower than before. The earlier figure applies
          until the lower one is confirmed.
        </p>
      )}
    </>
  )
}

function Use({ modelId }: { readonly modelId: string }) {
  const span = lastDays(30, { nowMs: currentMs() })
  const query = useQuery(operatorReportQuery(span, { by: 'model', account: null }))
  const { data } = query
  if (data === undefined) {
    return query.isError ? (
      <p className="note">
        <NotLoaded what="The usage could not be loaded" query={query} />
      </p>
    ) : (
      <Grey width="100%" />
    )
  }
  const used = data.data.find(({ id }) => id === modelId)?.figures
  if (used === undefined) return <p className="note">No requests in the last 30 days.</p>
  return (
    <dl className="kv">
      <Line term="Requests">
        <Link className="link" to="/operator/activity" search={{ range: '30d', model: [modelId] }}>
          {count(used.requests)}
        </Link>
      </Line>
      <Line term="Spend">{money(used.charge)}</Line>
      <Line term="Provider cost">{money(used.cost)}</Line>
      <Line term="Margin">
        <Margin figures={used} />
      </Line>
    </dl>
  )
}
