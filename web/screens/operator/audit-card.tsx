import { useQuery } from '@tanstack/react-query'
import { auditedFigure } from '../../../src/vocabulary/money.ts'
import { type Audit, auditProgressQuery, auditQuery } from '../../api/operator.ts'
import { money } from '../../format/money.ts'
import { count, counted } from '../../format/numbers.ts'
import { minuteTime } from '../../format/time.ts'
import { Failed } from '../../parts/states.tsx'

/** Recomputes every figure of the ledger, and shows the result. */
export function AuditCard() {
  const audit = useQuery(auditQuery)
  const progress = useQuery({ ...auditProgressQuery, enabled: audit.isFetching })
  const rows = progress.data?.rows ?? 0
  return (
    <section className="card overflow-hidden" aria-label="Audit" aria-busy={audit.isFetching}>
      <header className="pb-2">
        <h2>Ledger audit</h2>
        {audit.data !== undefined && !audit.isFetching && (
          <span className={`chip ${audit.data.ok ? 'good' : 'bad'}`}>
            {audit.data.ok ? 'Exact' : counted(audit.data.differences.length, 'difference')}
          </span>
        )}
      </header>
      {audit.isError && !audit.isFetching ? (
        <Failed what="The audit did not finish." query={audit} />
      ) : (
        <div className="flex flex-wrap items-center gap-3 px-[18px] pt-1 pb-[18px]">
          <p className="min-w-[200px] flex-1" role="status">
            {audit.isFetching
              ? `Reading the store${rows === 0 ? '' : `: ${count(rows)} rows so far`}. It continues if you leave this page.`
              : audit.data === undefined
                ? 'Recomputes every balance, hold, charge and roll-up from the entries and requests. Requests are served meanwhile.'
                : resultText(audit.data, new Date(audit.dataUpdatedAt))}
          </p>
          <button
            type="button"
            className="btn pri"
            disabled={audit.isFetching}
            onClick={() => audit.refetch()}
          >
            {audit.data === undefined ? 'Run the audit' : 'Run it again'}
          </button>
        </div>
      )}
      {audit.data !== undefined && !audit.data.ok && <Differences audit={audit.data} />}
    </section>
  )
}

function resultText({ ok, checked }: Audit, at: Date): string {
  const rows = `${counted(checked.accounts, 'account')}, ${counted(checked.keys, 'key')}, ${counted(checked.requests, 'request')} and ${count(checked.entries)} ledger entries were recomputed at ${minuteTime(at)}.`
  return ok
    ? `Every figure is exact. ${rows}`
    : `Some stored figures differ from the sum of their rows. ${rows} Keep a copy of the store, and look at the log.`
}

function Differences({ audit: { differences } }: { audit: Audit }) {
  return (
    <table className="cards" aria-label="Figures that differ">
      <thead>
        <tr>
          <th scope="col">Figure</th>
          <th scope="col">Of</th>
          <th scope="col" className="num">
            Stored
          </th>
          <th scope="col" className="num">
            Recomputed
          </th>
        </tr>
      </thead>
      <tbody>
        {differences.map(({ what, id, stored, recomputed }) => (
          <tr key={`${what} ${id}`}>
            <td className="wide">
              <b>{auditedFigure(what).name}</b>
            </td>
            <td className="mono wide break-all">{id}</td>
            <td className="num wide">
              <span className="only-s dimmed">stored </span>
              {figureText(what, stored)}
            </td>
            <td className="num wide">
              <span className="only-s dimmed">recomputed </span>
              {figureText(what, recomputed)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** By position: the name of a figure, and its value. */
function figureText(what: string, value: Audit['differences'][number]['stored']): string {
  if (value === null) return '–'
  return typeof value === 'number' && auditedFigure(what).isMoney ? money(value, 6) : String(value)
}
