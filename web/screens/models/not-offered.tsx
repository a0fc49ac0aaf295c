import type { UseQueryResult } from '@tanstack/react-query'
import type { OfferedModels } from '../../api/operator.ts'
import { FindField } from '../../parts/find-field.tsx'
import { MoreRows, useFirstRows } from '../../parts/first-rows.tsx'
import { ListCard } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Prose } from '../../parts/prose.tsx'
import { Empty } from '../../parts/states.tsx'

const HEADS = [
  { text: 'Model' },
  { text: 'Upstream', className: 'hide-t' },
  { text: 'Why it is not offered' },
] as const

interface NotOfferedProps {
  readonly query: UseQueryResult<OfferedModels>
  readonly find: string
  readonly onFind: (text: string) => void
}

/** The models that upstreams list and the gateway does not offer, each with the reason. */
export function NotOffered({ query, find, onFind }: NotOfferedProps) {
  const models = query.data?.not_offered
  const wanted = find.trim().toLowerCase()
  const first = useFirstRows(
    models
      ?.map((each, place) => ({ ...each, place }))
      .filter(({ upstream, model, why }) =>
        `${upstream} ${model} ${why}`.toLowerCase().includes(wanted),
      ),
  )
  return (
    <>
      <div className="filters">
        <FindField label="Model, upstream or reason" value={find} onChange={onFind} />
      </div>
      <ListCard
        label="Models that are not offered"
        query={query}
        rows={first.shown}
        failed="The models could not be loaded."
        empty={
          models?.length === 0 ? (
            <Empty title="Every listed model is offered.">
              <p>Models that are not offered appear here, each with the reason.</p>
            </Empty>
          ) : (
            <Empty title="No model matches.">
              <button type="button" className="btn" onClick={() => onFind('')}>
                Clear filters
              </button>
            </Empty>
          )
        }
        heads={HEADS}
        greyRows={8}
        row={({ place, upstream, model, why }) => (
          <tr key={place}>
            <td className="model name" title={model ?? undefined}>
              {model === null ? (
                <span className="dimmed">without an ID</span>
              ) : (
                <ModelName id={model} />
              )}
              <small className="two only-t">{upstream}</small>
            </td>
            <td className="hide-s hide-t text-ink-2">{upstream}</td>
            <td className="wide wrap-anywhere">
              <span className="only-s dimmed">{upstream}: </span>
              <Prose text={why} />
            </td>
          </tr>
        )}
      >
        <MoreRows rows={first} noun="model" />
        <p className="pager">
          From the last list of each upstream. Models that the settings of an upstream leave out are
          not in it.
        </p>
      </ListCard>
    </>
  )
}
