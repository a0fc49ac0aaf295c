import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lastDays } from '../../../src/vocabulary/date-range.ts'
import type { Model } from '../../api/answers.ts'
import { currentMs } from '../../api/clock.ts'
import { modelsQuery, momentsOf, usageQuery } from '../../api/queries.ts'
import { setFields } from '../../format/address.ts'
import { capitalized } from '../../format/capitalized.ts'
import { counted, shortCount } from '../../format/numbers.ts'
import { inputPrice, outputPrice, pricesText } from '../../format/prices.ts'
import { minuteTime } from '../../format/time.ts'
import { MoreRows, useFirstRows } from '../../parts/first-rows.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Empty, PartFailed } from '../../parts/states.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { useAccountId } from '../../shell/use-account.ts'
import { ModelDrawer } from './model-drawer.tsx'
import { ModelFilters } from './model-filters.tsx'
import { type ModelUses, matchingModels, ownName, paysFree } from './model-list.ts'
import type { ModelsSearch } from './search.ts'

const route = getRouteApi('/$account/models')

type Change = { readonly [K in keyof ModelsSearch]?: ModelsSearch[K] | undefined }

/** The models, with their prices. */
export function ModelsScreen() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(modelsQuery(useAccountId()))
  const { uses, query: usage } = useUses()
  const models = query.data?.data ?? []
  const found = query.data && matchingModels(models, search, uses)
  const first = useFirstRows(found)
  const opened = models.find(({ id }) => id === search.model)
  const change = (part: Change, { replace = true } = {}) =>
    void navigate({ search: setFields({ ...search, ...part }), replace, resetScroll: false })
  const close = () => change({ model: undefined })
  useShortcuts(opened === undefined ? {} : { Escape: close })
  return (
    <>
      <ScreenTop title="Models">
        {query.data !== undefined && (
          <p className="note">
            {counted(models.length, 'model')} · prices as of{' '}
            {minuteTime(new Date(query.dataUpdatedAt))}
          </p>
        )}
      </ScreenTop>
      {query.data !== undefined && search.model !== undefined && opened === undefined && (
        <Gone modelId={search.model} onClose={close} />
      )}
      <ModelFilters
        models={models}
        search={search}
        onChange={(part) => change(part, { replace: 'find' in part })}
      />
      <div className={opened === undefined ? 'act' : 'act open'}>
        <ListCard
          label="Models"
          className="models opens"
          query={query}
          rows={first.shown}
          empty={<Nothing isEmpty={models.length === 0} />}
          header={<PartFailed what="Your use of the models" query={usage} />}
          heads={HEADS}
          greyRows={8}
          row={(model) => (
            <Row
              key={model.id}
              model={model}
              search={search}
              onOpen={() => change({ model: model.id }, { replace: opened !== undefined })}
            />
          )}
        >
          <MoreRows rows={first} noun="model" />
          {(query.isPending || (found ?? []).length > 0) && (
            <p className="pager">
              The prices that this account is charged, in dollars per million tokens.
            </p>
          )}
        </ListCard>
        {opened !== undefined && (
          <ModelDrawer
            key={opened.id}
            model={opened}
            use={usage.data === undefined ? undefined : (uses.get(opened.id) ?? null)}
            usage={usage}
            onClose={close}
          />
        )}
      </div>
    </>
  )
}

/** The account's usage of each model in the last 30 days. */
function useUses() {
  const moments = momentsOf(lastDays(30, { nowMs: currentMs() }))
  const asked = { moments, by: 'model', step: 'day', compare: null } as const
  const query = useQuery(usageQuery(useAccountId(), asked))
  const uses: ModelUses = new Map(
    query.data?.groups.map(({ id, figures }) => [
      id,
      {
        requests: figures.requests,
        chargeMicros: figures.charge,
        firstByteMs: figures.first_byte_ms_p50,
      },
    ]),
  )
  return { uses, query }
}

const HEADS = [
  { text: 'Model' },
  { text: 'Input', className: 'num' },
  { text: 'Output', className: 'num' },
  { text: 'Context', className: 'num' },
  { text: 'Reads', className: 'beside hide-m' },
] as const

/** Says that the model of the address is not in the list. */
function Gone({ modelId, onClose }: { readonly modelId: string; readonly onClose: () => void }) {
  return (
    <section className="band" aria-label="Model not found">
      <Icon name="models" />
      <div>
        <p>
          <b>{modelId} is not among the models of this account.</b> It may have left the catalog.
        </p>
      </div>
      <button type="button" className="btn" onClick={onClose}>
        Close
      </button>
    </section>
  )
}

/** No model matches, or the catalog itself has none. */
function Nothing({ isEmpty }: { isEmpty: boolean }) {
  const account = useAccountId()
  return isEmpty ? (
    <Empty title="The catalog is empty.">
      <p>The service offers no models yet. Ask its operator.</p>
    </Empty>
  ) : (
    <Empty title="No model matches.">
      <Link className="btn" to="/$account/models" params={{ account }} search={{}}>
        Clear filters
      </Link>
    </Empty>
  )
}

interface RowProps {
  readonly model: Model
  readonly search: ModelsSearch
  readonly onOpen: () => void
}

function Row({ model, search, onOpen }: RowProps) {
  const account = useAccountId()
  const { id, architecture, context_length: context } = model
  const name = ownName(model)
  const input = inputPrice(model)
  return (
    <tr
      aria-current={search.model === id ? 'true' : undefined}
      onClick={(event) => {
        if (!event.defaultPrevented) onOpen()
      }}
    >
      <td className="model name">
        <Link
          className="open-it"
          to="/$account/models"
          params={{ account }}
          search={{ ...search, model: id }}
          replace={search.model !== undefined}
          resetScroll={false}
          title={id}
        >
          <ModelName id={id} />
        </Link>
        <small className="two">
          {name}
          {paysFree(model) && (
            <span className="freec">{name !== null && ' · '}free credit pays</span>
          )}
        </small>
      </td>
      {input === null ? (
        <td className="num hide-s" colSpan={2}>
          {pricesText(model)}
        </td>
      ) : (
        <>
          <td className="num hide-s">{input}</td>
          <td className="num hide-s">{outputPrice(model) ?? <span className="dimmed">–</span>}</td>
        </>
      )}
      <td className="num hide-s">
        {context === null || context === undefined ? '–' : shortTokens(context)}
      </td>
      <td className="hide-s hide-m beside">
        <span className="mods">
          {architecture.input_modalities.map((one) => (
            <span key={one}>{capitalized(one)}</span>
          ))}
        </span>
      </td>
      <td className="only-s num">{pricesText(model)}</td>
    </tr>
  )
}

/** `200 K`, `1 M`. */
function shortTokens(tokens: number): string {
  if (tokens >= 1_000_000) return shortCount(tokens).replace('.0', '')
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)} K` : String(tokens)
}
