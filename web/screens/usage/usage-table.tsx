import { Link } from '@tanstack/react-router'
import { type DateRange, searchOf } from '../../../src/vocabulary/date-range.ts'
import type { Usage, UsageFigures } from '../../api/answers.ts'
import type { OperatorReport } from '../../api/operator.ts'
import { ShareCell } from '../../charts/share-cell.tsx'
import { firstByteTexts } from '../../format/first-byte.ts'
import { money } from '../../format/money.ts'
import { count, counted, percent, shortCount } from '../../format/numbers.ts'
import { KeyName } from '../../parts/key-name.tsx'
import { type Head, Heads } from '../../parts/list-card.tsx'
import { ModelName } from '../../parts/model-name.tsx'
import { RoundedNote } from '../../parts/rounded-note.tsx'
import type { Measure } from '../../searches.ts'
import { useAccountPaths } from '../../shell/account-screen.tsx'
import { useAccountId } from '../../shell/use-account.ts'
import type { MarginTotals } from '../operator/margin-figures.tsx'
import { Margin } from '../operator/margin-figures.tsx'
import { MEASURE_RULES } from './measures.ts'

type Group = Usage['groups'][number]

interface UsageTableProps {
  readonly usage: Usage
  readonly measure: Measure
  readonly range: DateRange
  /** The time that it is compared with: `before`. */
  readonly comparedName: string
  readonly margins: Margins
}

const HEADS = { model: 'Model', key: 'Key', endpoint: 'Endpoint' } as const
const FIRST_BYTE_HEADS = [
  { text: 'First byte, median', className: 'num hide-m' },
  { text: '95% within', className: 'num hide-m' },
] as const

// A tablet has no room for all columns.
const TIGHT = 'num hide-m'

const MARGIN_HEADS = [
  { text: 'Provider cost', className: 'num' },
  { text: 'Margin', className: 'num' },
] as const

/** The figures of operators for the same groups; undefined: they are not read yet, null: for customers. */
export type Margins = OperatorReport | undefined | null

/** The figures of operators of a group, `all` of them together, or null: of requests that belong to none. */
export function marginOf(
  margins: Margins,
  group: string | null | 'all',
): MarginTotals | null | undefined {
  if (margins === null) return undefined
  if (group === 'all') return margins?.totals ?? null
  return margins?.data.find(({ id }) => id === group)?.figures ?? null
}

interface FigureHeadsInput {
  /** Whether there are first-byte times. */
  readonly hasFirstByte: boolean
  /** Whether there are cost and margin, for operators. */
  readonly hasMargin: boolean
  /** Whether there is also a column of the time before. Default false. */
  readonly isCompared?: boolean
}

/** The heads of {@link Figures}. */
export function figureHeads(input: FigureHeadsInput): readonly Head[] {
  const { hasFirstByte, hasMargin, isCompared = false } = input
  const className = isCompared || hasMargin ? TIGHT : 'num hide-t'
  return [
    { text: 'Requests', className: 'num' },
    { text: 'Failed', className: hasMargin ? TIGHT : 'num' },
    { text: 'Tokens in', className },
    { text: 'Tokens out', className },
    ...(hasFirstByte ? FIRST_BYTE_HEADS : []),
    { text: 'Spend', className: 'num' },
    ...(hasMargin ? MARGIN_HEADS : []),
  ]
}

/** Every group with all its figures, the one with most of the measure first. */
export function UsageTable(props: UsageTableProps) {
  const { usage, measure, range, comparedName, margins } = props
  const { by, groups, figures, compared } = usage
  const { of, form, text, show } = MEASURE_RULES[measure]
  const before = new Map(compared?.groups.map((group) => [group.id, of(group.figures)]))
  const beforeClass = margins === null ? 'num' : TIGHT
  const beforeCell = (value: number | null | undefined) =>
    compared === null ? null : (
      <td className={`${beforeClass} hide-s`}>
        {value === null || value === undefined ? '–' : show(value)}
      </td>
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
            ...figureHeads({
              hasFirstByte: margins === null,
              hasMargin: margins !== null,
              isCompared: compared !== null,
            }),
            ...(compared === null
              ? []
              : [{ text: `${text} ${comparedName}`, className: beforeClass }]),
          ]}
        />
        <tbody>
          {rows.map((group) => (
            <tr key={group.id} className={group.deleted ? 'dim' : ''}>
              <ShareCell part={of(group.figures)} whole={whole} isName={by === 'key'}>
                <GroupLink group={group} by={by} range={range} />
              </ShareCell>
              <Figures
                figures={group.figures}
                isCompared={compared !== null}
                margin={marginOf(margins, group.id === 'pruned' ? null : group.id)}
              />
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
              <Figures
                figures={figures}
                isCompared={compared !== null}
                margin={marginOf(margins, 'all')}
              />
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
  /** The figures of operators, in place of first-byte times; null: they are not read yet, undefined: for customers. */
  readonly margin: MarginTotals | null | undefined
}

/** The cells with the sums of requests. */
export function Figures({ figures, isCompared = false, margin }: FiguresProps) {
  const isTight = isCompared || margin !== undefined
  const tokensClass = `hide-s ${isTight ? TIGHT : 'num hide-t'}`
  const tokensIn = shortCount(figures.input_tokens)
  const tokensOut = shortCount(figures.output_tokens)
  const { requests, failed, charge, first_byte_ms_p50: p50, first_byte_ms_p95: p95 } = figures
  return (
    <>
      <td className="num hide-s">
        {count(requests)}
        {!isTight && (
          <span className="two only-t">
            {tokensIn} in, {tokensOut} out
          </span>
        )}
      </td>
      <td className={`hide-s ${margin === undefined ? 'num' : TIGHT}`}>
        {percent(failed, requests)}
      </td>
      <td className={tokensClass}>{tokensIn}</td>
      <td className={tokensClass}>{tokensOut}</td>
      {margin === undefined && p50 !== undefined && p95 !== undefined && (
        <FirstByteCells requests={requests} first_byte_ms_p50={p50} first_byte_ms_p95={p95} />
      )}
      <td className="only-s dimmed">
        {counted(requests, 'request')}, {percent(failed, requests)} failed
      </td>
      <td className="num">
        <b>{money(charge)}</b>
      </td>
      {margin !== undefined && (
        <>
          <td className="num hide-s">{margin === null ? '–' : money(margin.cost)}</td>
          <td className="num hide-s">{margin === null ? '–' : <Margin figures={margin} />}</td>
          {margin !== null && (
            <td className="only-s wide">
              <span className="flex justify-between gap-3">
                <span className="dimmed">cost {money(margin.cost)}</span>
                <span className="nowrap">
                  <span className="dimmed">margin </span>
                  <Margin figures={margin} />
                </span>
              </span>
            </td>
          )}
        </>
      )}
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
      ) : prefix === null ? (
        <b title={name}>{name}</b>
      ) : (
        <KeyName name={name} prefix={prefix} deleted={deleted} />
      )}
    </Link>
  )
}
