import { getRouteApi, Link } from '@tanstack/react-router'
import {
  CLIENTS,
  type ClientSettings,
  clientOf,
  clientsOf,
  keyLine,
} from '../../parts/client-lines.ts'
import { CodeLines } from '../../parts/code-lines.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ModelPicker } from '../../parts/model-picker.tsx'
import { Prose } from '../../parts/prose.tsx'
import { type Endpoint, useExampleModel, useModels } from '../../parts/use-models.ts'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { useAccountId, useMe } from '../../shell/use-account.ts'

const route = getRouteApi('/$account/connect')

const FORMATS: readonly Endpoint[] = ['chat', 'messages', 'responses', 'images']

/** The settings of each client, with lines to copy, for the clients that can use the chosen model. */
export function ConnectScreen() {
  const { client: clientId = '', model: asked } = route.useSearch()
  const wanted = clientOf(clientId)
  const fallback = useExampleModel(wanted.speaks)
  const models = useModels(FORMATS)
  const withId = (modelId?: string) => models.find(({ id }) => id === modelId)
  const chosen = withId(asked) ?? withId(fallback) ?? models[0]
  const clients = chosen === undefined ? CLIENTS : clientsOf(chosen.endpoints)
  const client = clients.includes(wanted) ? wanted : (clients[0] ?? wanted)
  const model = chosen?.id ?? fallback
  const isGone = asked !== undefined && models.length > 0 && chosen?.id !== asked
  return (
    <>
      <ScreenTop title="Connect" />
      <div className="connect">
        <ClientList clients={clients} picked={client} />
        <div className="grid gap-4 min-w-0">
          <KeyStep />
          <LinesStep client={client} model={model} missingModel={isGone ? asked : null} />
          <AnyClient />
        </div>
      </div>
    </>
  )
}

interface ClientListProps {
  readonly clients: readonly ClientSettings[]
  readonly picked: ClientSettings
}

function ClientList({ clients: shown, picked }: ClientListProps) {
  const navigate = route.useNavigate()
  const account = useAccountId()
  const search = route.useSearch()
  const groups = Map.groupBy(shown, ({ group }) => group)
  return (
    <>
      <nav className="card hide-s clients" aria-label="Clients">
        {[...groups].map(([group, clients]) => (
          <section key={group} aria-label={group}>
            <h2>{group}</h2>
            {clients.map(({ id, name }) => (
              <Link
                key={id}
                className="menu-item"
                to="/$account/connect"
                params={{ account }}
                search={{ ...search, client: id }}
                activeProps={{}}
                aria-current={id === picked.id ? 'true' : undefined}
                replace
              >
                {name}
              </Link>
            ))}
          </section>
        ))}
      </nav>
      <label className="fld only-s">
        Client
        <select
          className="inp"
          value={picked.id}
          onChange={({ target }) =>
            navigate({
              search: (before) => ({ ...before, client: target.value }),
              replace: true,
            })
          }
        >
          {[...groups].map(([group, clients]) => (
            <optgroup key={group} label={group}>
              {clients.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
    </>
  )
}

const PASTE_HERE = 'paste-your-key-here'

function KeyStep() {
  const account = useAccountId()
  return (
    <section className="card snip" aria-label="The key">
      <header>
        <h2>1. Your key</h2>
        <Link className="btn" to="/$account/keys" params={{ account }} search={{ create: true }}>
          Create key
        </Link>
        <CopyButton text={keyLine(PASTE_HERE)} label="Copy the line of the key" />
      </header>
      <CodeLines lines={keyLine(PASTE_HERE)} />
      <p className="pager">
        Run this line with your key in the terminal of your program, or set the variable in its
        settings. Keys are for servers: never put one into a web page or an app.
      </p>
    </section>
  )
}

interface LinesStepProps {
  readonly client: ClientSettings
  readonly model: string
  /** The model of the address, which these clients can't use; null: they use it. */
  readonly missingModel: string | null
}

function LinesStep({ client, model, missingModel }: LinesStepProps) {
  const navigate = route.useNavigate()
  const { base_url: baseUrl } = useMe()
  const models = useModels(FORMATS)
  const contextTokens = models.find(({ id }) => id === model)?.context_length ?? null
  const lines = client.lines({ baseUrl, model, contextTokens })
  return (
    <section className="card snip" aria-label={`Lines of ${client.name}`}>
      <header>
        <h2>2. {client.name}</h2>
        <CopyButton text={lines} label={`Copy the lines of ${client.name}`} />
      </header>
      <div className="lines-of">
        <p className={/^(?:npm|pip) /.test(client.place) ? 'mono' : ''}>{client.place}</p>
        <ModelPicker
          models={models}
          value={model}
          onChange={(picked) =>
            navigate({ search: (before) => ({ ...before, model: picked }), replace: true })
          }
          error={
            missingModel === null
              ? null
              : `${missingModel} can’t be used here. The lines have another model.`
          }
        />
      </div>
      <CodeLines lines={lines} />
      <ul className="pager-notes">
        {client.notes.map((note) => (
          <li key={note}>
            <Prose text={note} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function AnyClient() {
  const { base_url: baseUrl } = useMe()
  return (
    <section className="card" aria-label="Any other client">
      <header>
        <h2>Any other client</h2>
      </header>
      <dl className="addresses">
        <Address name="OpenAI-style address" text={`${baseUrl}/v1`} />
        <Address name="Anthropic-style address" text={baseUrl} />
      </dl>
      <p className="note px-[18px] pb-4">
        The key goes into the header <span className="mono">authorization: Bearer</span> or{' '}
        <span className="mono">x-api-key</span>. A program that reads variables takes{' '}
        <span className="mono">OPENAI_BASE_URL</span> and{' '}
        <span className="mono">OPENAI_API_KEY</span>, or{' '}
        <span className="mono">ANTHROPIC_BASE_URL</span> and{' '}
        <span className="mono">ANTHROPIC_API_KEY</span>.
      </p>
    </section>
  )
}

function Address({ name, text }: { name: string; text: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className="mono">{text}</span>
        <CopyButton text={text} label={`Copy the ${name}`} bare />
      </dd>
    </div>
  )
}
