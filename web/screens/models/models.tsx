import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Model } from '../../api/answers.ts'
import { modelsQuery } from '../../api/queries.ts'
import { perMillionText } from '../../format/money.ts'
import { count } from '../../format/numbers.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { Empty, Failed, GreyRows, Stale } from '../../parts/states.tsx'
import { useTitle } from '../../parts/use-title.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'

const route = getRouteApi('/$account/models')

/** What can be asked for, and at which prices. */
export function ModelsScreen() {
  useTitle('Models')
  const { find = '', open = false } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(modelsQuery)
  useShortcuts({ '/': () => document.getElementById('find')?.focus() })
  const change = (text: string, isOpen: boolean) =>
    navigate({
      search: { ...(text === '' ? {} : { find: text }), ...(isOpen ? { open: true } : {}) },
      replace: true,
      resetScroll: false,
    })
  return (
    <>
      <div className="top">
        <h1>Models</h1>
      </div>
      <div className="filters">
        <label className="find">
          <Icon name="search" small />
          <span className="vh">Id or name</span>
          <input
            id="find"
            type="search"
            value={find}
            placeholder="Find a model"
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => change(event.target.value, open)}
          />
          <kbd className="hide-s">/</kbd>
        </label>
        <button
          type="button"
          className={open ? 'pill on' : 'pill'}
          aria-pressed={open}
          onClick={() => change(find, !open)}
        >
          {open && <Icon name="check" small />}
          Free credit pays
        </button>
      </div>
      <section className="card overflow-hidden" aria-label="Models" aria-busy={query.isPending}>
        {query.data === undefined && query.isError ? (
          <Failed
            what="The models could not be read."
            error={query.error}
            onRetry={() => query.refetch()}
          />
        ) : (
          <>
            <Stale query={query} />
            <Table models={query.data?.data} find={find} isOpenOnly={open} />
          </>
        )}
      </section>
      <p className="note mt-3">
        Prices of the provider, for a million tokens. A request is charged the provider’s cost plus
        the platform fee.
      </p>
    </>
  )
}

interface TableProps {
  readonly models: readonly Model[] | undefined
  readonly find: string
  readonly isOpenOnly: boolean
}

function Table({ models, find, isOpenOnly }: TableProps) {
  const wanted = find.trim().toLowerCase()
  const found = models?.filter(
    (model) =>
      `${model.id} ${model.name ?? ''}`.toLowerCase().includes(wanted) &&
      (!isOpenOnly || paysFree(model)),
  )
  if (found?.length === 0) {
    return (
      <Empty title={models?.length === 0 ? 'The catalog is empty' : 'No model has this name'}>
        <p>
          {models?.length === 0
            ? 'The provider lists no models yet, or its list could not be read: the log says why.'
            : 'Look for a part of its id, such as the name of its author.'}
        </p>
      </Empty>
    )
  }
  return (
    <table className="cards">
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col" className="num">
            Input
          </th>
          <th scope="col" className="num">
            Output
          </th>
          <th scope="col" className="num">
            Context
          </th>
          <th scope="col">Reads, writes</th>
          <th scope="col">
            <span className="vh">Copy</span>
          </th>
        </tr>
      </thead>
      {found === undefined ? (
        <GreyRows rows={8} columns={6} />
      ) : (
        <tbody>
          {found.map((model) => (
            <Row key={model.id} model={model} />
          ))}
        </tbody>
      )}
    </table>
  )
}

function Row({ model }: { model: Model }) {
  const { id, name, architecture, context_length: context, pricing } = model
  return (
    <tr>
      <td className="model">
        <ModelName id={id} />
        {paysFree(model) && (
          <span className="chip good ml-2" title="Its weights are open: free credit pays for it.">
            free credit
          </span>
        )}
        {name !== undefined && <small className="two">{name}</small>}
      </td>
      <td className="num hide-s">
        <Price text={pricing['prompt']} />
      </td>
      <td className="num hide-s">
        <Price text={pricing['completion']} />
      </td>
      <td className="num hide-s">
        {context === null || context === undefined ? '–' : count(context)}
      </td>
      <td className="hide-s hide-m text-ink-2">
        {architecture.input_modalities.join(', ')} <span className="dimmed">→</span>{' '}
        {architecture.output_modalities.join(', ')}
      </td>
      <td className="num">
        <CopyButton text={id} label={`Copy the id ${id}`} bare />
      </td>
      <td className="only-s wide dimmed">
        <Price text={pricing['prompt']} /> in, <Price text={pricing['completion']} /> out
      </td>
    </tr>
  )
}

/** Prices that depend on the size of a prompt are no text. */
function Price({ text }: { text: Model['pricing'][string] | undefined }) {
  const shown = typeof text === 'string' ? perMillionText(text) : null
  return shown === null ? <span className="dimmed">–</span> : shown
}

/** Free credit pays for texts of models whose weights are open. */
function paysFree({ hugging_face_id: weights, architecture }: Model): boolean {
  return (weights ?? '') !== '' && architecture.output_modalities.join() === 'text'
}
