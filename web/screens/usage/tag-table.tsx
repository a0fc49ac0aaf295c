import type { UsageReport } from '../../api/answers.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { Heads } from '../../parts/list-card.tsx'
import { Empty } from '../../parts/states.tsx'
import type { Measure } from '../../searches.ts'
import { MEASURE_RULES } from './measures.ts'
import { Figures, figureHeads, type Margins, marginOf } from './usage-table.tsx'

/** The name of the last line of a table by tag. */
export const EACH_ONCE = 'All requests, each once'

interface TagTableProps {
  readonly report: UsageReport
  /** A sum: reports have no times. */
  readonly measure: Measure
  readonly margins: Margins
}

/** The sums of the requests of each tag, the tag with most of the measure first, and requests without tags last. */
export function TagTable({ report: { data, totals }, measure, margins }: TagTableProps) {
  const of = (figures: UsageReport['totals']) =>
    MEASURE_RULES[measure].of({ ...figures, first_byte_ms_p50: null, first_byte_ms_p95: null }) ?? 0
  const tags = data.filter(({ id }) => id !== null)
  const rows = [
    ...tags.toSorted((one, other) => of(other.figures) - of(one.figures)),
    ...data.filter(({ id }) => id === null),
  ]
  if (tags.length === 0) {
    return (
      <section className="card">
        <Empty title="No request in this period has a tag.">
          <p>
            Send the header <code>x-service-tags: nightly, team-two</code> with requests to see the
            spend by tag.
          </p>
        </Empty>
      </section>
    )
  }
  return (
    <section className="card overflow-hidden" aria-label="Figures by tag">
      <table className="cards" aria-label="Figures by tag">
        <Heads
          heads={[
            { text: 'Tag' },
            ...figureHeads({ hasFirstByte: false, hasMargin: margins !== null }),
          ]}
        />
        <tbody>
          {rows.map(({ id, figures }) => (
            <tr key={id ?? ''}>
              <ShareCell part={of(figures)} whole={of(totals)} isName>
                {id === null ? (
                  <span className="text-ink-2">Without tags, or pruned</span>
                ) : (
                  <b title={id}>{id}</b>
                )}
              </ShareCell>
              <Figures figures={figures} margin={marginOf(margins, id)} />
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td className="wide">
              <b>{EACH_ONCE}</b>
            </td>
            <Figures figures={totals} margin={marginOf(margins, 'all')} />
          </tr>
        </tfoot>
      </table>
      <TagNote />
    </section>
  )
}

/** Says below a table by tag why its rows can add up to more than its last line. */
export function TagNote() {
  return (
    <p className="pager">
      A request counts in each of its tags, so rows can add up to more than all requests.
    </p>
  )
}
