import { Link } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { Usage, UsageFigures } from '../../api/answers.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { firstByteTexts } from '../../format/first-byte.ts'
import { money } from '../../format/money.ts'
import { count, counted, percent, shortCount } from '../../format/numbers.ts'
import { type Head, Heads } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { RoundedNote } from '../../parts/rounded-note.tsx'
import type { Measure } from '../../searches.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import { MEASURE_RULES } from './measures.ts'

type Group = Usage['groups'][number]

interface UsageTableProps {
  readonly usage: Usage
  readonly measure: Measure
  readonly range: DateRange
  /** The time that it is compared with: `before`. */
  readonly comparedName: string
}

const HEADS = { model: 'Model', key: 'Key', endpoint: 'Endpoint' } as const
const FIRST_BYTE_HEADS = [
  { text: 'First byte p50', className: 'num hide-m' },
  { text: 'p95', className: 'num hide-m' },
] as const

// A tablet has no room for both tokens and a column of the time before.
const TOKENS_COMPARED = 'num hide-m'

/**
 * The heads of {@link Figures}: with first-byte times where there are some. By position: that, and whether it is
 * compared.
 */
export function figureHeads(hasFirstByte: boolean, isCompared = false): readonly Head[] {
  const className = isCompared ? TOKENS_COMPARED : 'num'
  return [
    { text: 'Requests', className: 'num' },
    { text: 'Failed', className: 'num' },
    { text: 'Tokens in', className },
    { text: 'Tokens out', className },
    ...(hasFirstByte ? FIRST_BYTE_HEADS : []),
    { text: 'Spend', className: 'num' },
  ]
}

/** Every group with all its figures, the one with most of the measure first. */
export function UsageTable({ usage, measure, range, comparedName }: UsageTableProps) {
  const { by, groups, figures, compared } = usage
  const { of, form, text, show } = MEASURE_RULES[measure]
  const before = new Map(compared?.groups.map((group) => [group.id, of(group.figures)]))
  const beforeCell = (value: number | null | undefined) =>
    compared === null ? null : (
      <td className="num hide-s">{value === null || value === undefined ? '–' : show(value)}</td>
    )
  // Sums show the share of the total; times show the share of the longest time.
  const whole =
    form === 'columns'
      ? of(figures)
      : groups.reduce((most, group) => Math.max(most, of(group.figures) ?? 0), 0)
  const rows = groups.toSorted((one, other) => (of(other.figures) ?? -1) - (of(one.figures) ?? -1))
  return (
    <section className="card overflow-hidden" aria-label={`Figures by ${by}`}>
      <table className="cards" aria-label={`Figures by ${by}`}>
        <Heads
          heads={[
            { text: HEADS[by] },
            ...figureHeads(true, compared !== null),
            ...(compared === null ? [] : [{ text: `${text} ${comparedName}`, className: 'num' }]),
          ]}
        />
        <tbody>
          {rows.map((group) => (
            <tr key={group.id} className={group.deleted ? 'dim' : ''}>
              <ShareCell part={of(group.figures)} whole={whole}>
                <GroupLink group={group} by={by} range={range} />
              </ShareCell>
              <Figures figures={group.figures} isCompared={compared !== null} />
              {beforeCell(before.get(group.id))}
            </tr>
          ))}
        </tbody>
        {groups.length > 1 && (
          <tfoot>
            <tr>
              <td className="wide">
                <b>All {counted(groups.length, by)}</b>
              </td>
              <Figures figures={figures} isCompared={compared !== null} />
              {beforeCell(of(usage.before))}
            </tr>
          </tfoot>
        )}
      </table>
      {groups.length > 1 && (
        <RoundedNote
          columns={[{ parts: groups.map((group) => group.figures.charge), sum: figures.charge }]}
        />
      )}
    </section>
  )
}

type FirstByte = 'first_byte_ms_p50' | 'first_byte_ms_p95'

interface FiguresProps {
  /** A report has no first-byte times. */
  readonly figures: Omit<UsageFigures, FirstByte> & Partial<Pick<UsageFigures, FirstByte>>
  /** Whether there is also a column of the time before. Default false. */
  readonly isCompared?: boolean
}

/** The cells with the sums of requests. */
export function Figures({ figures, isCompared = false }: FiguresProps) {
  const tokensClass = `hide-s ${isCompared ? TOKENS_COMPARED : 'num'}`
  const { requests, failed, charge, first_byte_ms_p50: p50, first_byte_ms_p95: p95 } = figures
  return (
    <>
      <td className="num hide-s">{count(requests)}</td>
      <td className="num hide-s">{percent(failed, requests)}</td>
      <td className={tokensClass}>{shortCount(figures.input_tokens)}</td>
      <td className={tokensClass}>{shortCount(figures.output_tokens)}</td>
      {p50 !== undefined && p95 !== undefined && (
        <FirstByteCells requests={requests} first_byte_ms_p50={p50} first_byte_ms_p95={p95} />
      )}
      <td className="only-s dimmed">
        {counted(requests, 'request')}, {percent(failed, requests)} failed
      </td>
      <td className="num">
        <b>{money(charge)}</b>
      </td>
    </>
  )
}

function FirstByteCells(figures: Pick<UsageFigures, FirstByte | 'requests'>) {
  const { p50, p95 } = firstByteTexts(figures)
  return (
    <>
      <td className="num hide-s hide-m">{p50 ?? '–'}</td>
      <td className="num hide-s hide-m">{p95 ?? '–'}</td>
    </>
  )
}

interface GroupLinkProps {
  readonly group: Group
  readonly by: Usage['by']
  readonly range: DateRange
}

/** The name of a group, which leads to its requests. */
function GroupLink({ group: { id, name, prefix, deleted }, by, range }: GroupLinkProps) {
  const account = useAccountId()
  const paths = useAccountPaths()
  // Pruned requests are in no list.
  if (id === 'pruned') return <>{name}</>
  return (
    <Link
      to={paths.activity}
      params={{ account }}
      search={{ ...searchOf(range), [by]: [id] }}
      preload={false}
    >
      {by === 'model' ? (
        <span className="model">
          <ModelName id={name} />
        </span>
      ) : (
        <b>{name}</b>
      )}
      {prefix !== null && (
        <span className="mono dimmed ml-1.5 min-[961px]:whitespace-nowrap">{prefix}</span>
      )}
      {deleted && <span className="dimmed"> deleted</span>}
    </Link>
  )
}
