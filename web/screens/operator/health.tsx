import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answer, asOperator } from '../../api/calls.ts'
import {
  type Health,
  healthQuery,
  maintenanceQuery,
  type Webhook,
  webhooksQuery,
} from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, counted } from '../../format/numbers.ts'
import { ago } from '../../format/time.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useNow } from '../../parts/now.ts'
import { Problem } from '../../parts/problem.tsx'
import { Failed, Grey, PartFailed, Stale } from '../../parts/states.tsx'
import { ScreenTop } from '../../shell/account-screen.tsx'
import { AuditCard } from './audit-card.tsx'
import { CHECKS } from './checks.ts'
import { useOperatorWrite } from './use-operator-write.ts'
import { failingWords } from './webhook-state.tsx'

/** The ledger audit, readiness, the catalog and maintenance. */
export function HealthScreen() {
  const query = useQuery(healthQuery)
  return (
    <>
      <ScreenTop title="Health" />
      <div className="grid gap-4">
        <AuditCard />
        {query.data === undefined && query.isError ? (
          <section className="card">
            <Failed what="Health could not be loaded." query={query} />
          </section>
        ) : (
          <div className="grid items-start gap-4 min-[1201px]:grid-cols-2">
            <section className="card overflow-hidden" aria-label="Readiness">
              <header className="pb-2">
                <h2>Readiness</h2>
              </header>
              <Stale query={query} />
              {query.data === undefined ? <GreyCard /> : <Readiness health={query.data} />}
            </section>
            <section className="card overflow-hidden" aria-label="Catalog">
              <header className="pb-2">
                <h2>Catalog</h2>
              </header>
              {query.data === undefined ? <GreyCard /> : <Catalog health={query.data} />}
            </section>
          </div>
        )}
        <Maintenance health={query.data} />
      </div>
    </>
  )
}

function GreyCard() {
  return (
    <div className="grid gap-2 p-[18px] pt-1">
      <Grey width="70%" />
      <Grey width="50%" />
      <Grey width="60%" />
    </div>
  )
}

function Readiness({ health }: { health: Health }) {
  const { checks, version, store, mode } = health
  const webhooks = useQuery(webhooksQuery)
  return (
    <>
      <ul className="checks">
        {checks.map(({ name, ok, message }) => (
          <li key={name}>
            <span className={`chip ${!ok ? 'bad' : message === null ? 'good' : 'wait'}`}>
              {!ok ? 'Fault' : message === null ? 'OK' : 'Warning'}
            </span>
            <span className="min-w-0">
              {CHECKS[name] ?? name}
              {message !== null && <span className="two">{message}</span>}
            </span>
          </li>
        ))}
        <FailingWebhooks webhooks={webhooks.data?.data ?? []} />
      </ul>
      <PartFailed what="The webhooks" query={webhooks} />
      <p className="note px-[18px] pt-1 pb-[18px]">
        tollgate {version} on {store === 'sqlite' ? 'SQLite' : 'PostgreSQL'},{' '}
        {mode === 'simulator' ? 'with the simulator' : 'with live upstreams'}. /readyz answers{' '}
        {health.ready ? 200 : 503}.
      </p>
      <Costs costs={health.costs} />
    </>
  )
}

function FailingWebhooks({ webhooks }: { readonly webhooks: readonly Webhook[] }) {
  const now = useNow()
  return webhooks.map(({ id, url, disabled, failing }) =>
    disabled || failing === null ? null : (
      <li key={id}>
        <span className="chip wait">Warning</span>
        <span className="min-w-0">
          <Link className="link" to="/operator/webhooks/$id" params={{ id }}>
            Webhook {new URL(url).host}
          </Link>
          <span className="two">failing {failingWords(failing, now)}</span>
        </span>
      </li>
    ),
  )
}

/** How reported costs are verified, and what was found wrong. */
function Costs({ costs: { lookups, doubted, key_usage_agrees: agrees } }: Pick<Health, 'costs'>) {
  return (
    <div className="grid gap-1 px-[18px] pb-[18px]">
      <p className="note">
        {lookups === 'all'
          ? 'Every reported cost is looked up.'
          : doubted.length === 0
            ? 'Reported costs are verified by samples; none is in doubt.'
            : 'The upstream reported wrong costs for these models. tollgate looks up the cost of each of their requests:'}
      </p>
      {lookups === 'verify' && doubted.length > 0 && (
        <ul>
          {doubted.map((unit) => (
            <li key={unit} className="mono">
              {unit}
            </li>
          ))}
        </ul>
      )}
      {agrees === false && (
        <p className="problem">
          The usage of the upstream’s key rose by a different amount than the booked costs.
        </p>
      )}
    </div>
  )
}

function Catalog({ health: { catalog } }: { health: Health }) {
  const now = useNow()
  const [done, setDone] = useState<Answer<'refreshCatalog', 'operator'> | null>(null)
  const refresh = useOperatorWrite(() => asOperator('refreshCatalog', {}), setDone)
  const { models, refreshed_at: refreshedAt, doubted } = catalog
  return (
    <div className="grid gap-3 px-[18px] pt-1 pb-[18px]">
      <p>
        {counted(models, 'model')},{' '}
        {refreshedAt === null
          ? 'prices were never read'
          : `prices read ${ago(new Date(refreshedAt), now)}`}
        .
      </p>
      {doubted.length === 0 ? (
        <p className="note">No price is doubted.</p>
      ) : (
        <div>
          <p>
            {counted(doubted.length, 'model')} with a figure that fell to a tenth or less. Holds use
            the old figure until three refreshes in a row have the new one:
          </p>
          <ul className="mt-1">
            {doubted.map((id) => (
              <li key={id}>
                <span className="mono">{id}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <Problem text={refresh.error?.message} />
      {!refresh.isPending &&
        done?.failed.map(({ upstream, why }) => (
          <Problem key={upstream} text={`${upstream}: ${why}`} />
        ))}
      <div className="flex flex-wrap items-center gap-3">
        <button
          type="button"
          className="btn"
          aria-disabled={refresh.isPending}
          onClick={() => refresh.mutate(undefined)}
        >
          {refresh.isPending ? 'Reading prices' : 'Refresh now'}
        </button>
        <span className="note" role="status">
          {done !== null &&
            !refresh.isPending &&
            `${counted(done.models, 'model')} read, ${count(done.skipped.length)} not offered.`}
        </span>
      </div>
    </div>
  )
}

function Maintenance({ health }: { health: Health | undefined }) {
  const query = useQuery(maintenanceQuery)
  const [isAsking, setAsking] = useState(false)
  const { data } = query
  const isOn = data?.enabled === true
  return (
    <section className="card overflow-hidden" aria-label="Maintenance">
      <header className="pb-2">
        <h2>Maintenance</h2>
        {data !== undefined && (
          <span className={`chip ${isOn ? 'wait' : 'off'}`}>{isOn ? 'On' : 'Off'}</span>
        )}
      </header>
      {data === undefined && query.isError ? (
        <Failed what="Maintenance mode could not be loaded." query={query} />
      ) : (
        <div className="flex flex-wrap items-center gap-3 px-[18px] pt-1 pb-[18px]">
          <p className="min-w-[200px] flex-1">
            {data === undefined ? (
              <Grey width="60%" />
            ) : isOn ? (
              'New inference requests are refused with 503.'
            ) : (
              'Requests are accepted. Turn on maintenance mode before you stop or move the gateway.'
            )}
          </p>
          <button
            type="button"
            className="btn"
            disabled={data === undefined}
            onClick={() => setAsking(true)}
          >
            {isOn ? 'Turn off' : 'Turn on'}
          </button>
        </div>
      )}
      {isAsking && <TurnMaintenance isOn={isOn} health={health} onClose={() => setAsking(false)} />}
    </section>
  )
}

interface TurnProps {
  readonly isOn: boolean
  readonly health: Health | undefined
  readonly onClose: () => void
}

function TurnMaintenance({ isOn: isOnNow, health, onClose }: TurnProps) {
  // As it was when a person opened this: a change elsewhere must not turn its button round.
  const [isOn] = useState(isOnNow)
  const turn = useOperatorWrite(
    (enabled: boolean) => asOperator('setMaintenance', { enabled }),
    onClose,
  )
  const open = health?.holds.find(({ state }) => state === 'open')
  const running =
    open === undefined || open.requests === 0
      ? 'No running requests.'
      : `${counted(open.requests, 'running request')}, with ${money(open.held)} held, ${open.requests === 1 ? 'finishes' : 'finish'} normally.`
  return (
    <FormDialog
      title={isOn ? 'Turn maintenance off?' : 'Turn maintenance on?'}
      submit={isOn ? 'Turn off' : 'Turn on'}
      isDangerous={!isOn}
      write={turn}
      onSubmit={() => turn.mutate(!isOn)}
      onClose={onClose}
    >
      {isOn ? (
        <p>Requests are accepted again: by this process at once, by others within seconds.</p>
      ) : (
        <p>
          New inference requests of all accounts are refused with 503 at once. {running} This page
          and the lists of models stay available. Maintenance stays on after a restart.
        </p>
      )}
    </FormDialog>
  )
}
