import { scaleBand, scaleLinear } from 'd3-scale'
import { area, line, stack } from 'd3-shape'
import { useWidth } from '../parts/use-width.ts'
import { ColumnTip } from './column-tip.tsx'
import { type LinePoint, linePoints, type Mark } from './line-points.ts'
import { useShownStep } from './use-shown-step.ts'

/** One part of every column, or one line. */
export interface ChartSeries {
  readonly id: string
  readonly name: string
  /** 1 to 6: its colour; the fifth is for all others. */
  readonly tone: number
  /** One for each step; null: there is none. */
  readonly values: readonly (number | null)[]
}

/** A chart by time. */
export interface StepChartProps {
  /** Columns are added up, lines are not. */
  readonly form: 'columns' | 'lines'

  /** The label of the chart for screen readers. */
  readonly label: string
  readonly steps: readonly Date[]
  readonly series: readonly ChartSeries[]
  /** The sum of all series in each step; null: no data. */
  readonly totals: readonly (number | null)[]
  /** The totals of the time that it is compared with, drawn as a dashed line, and what that time is called. */
  readonly compared?: {
    readonly name: string
    /** Its sum, in words. Default: not shown. */
    readonly text?: string
    readonly values: readonly (number | null)[]
  } | null
  /** Events of the first line. Default: none. */
  readonly marks?: readonly Mark[]
  /** The parts of the first line's values that came or went at once, by the index of their step. Default: none. */
  readonly jumps?: ReadonlyMap<number, number>
  /** Whether the first line is filled down to zero. Default: no. */
  readonly isFilled?: boolean
  /** Opens what a column is made of; the group is null if none was pointed at. */
  readonly onOpen?: (at: number, groupId: string | null) => void
  readonly showStep: (at: Date) => string
  readonly showTick: (at: Date) => string
  readonly showValue: (value: number) => string
  readonly showAxis: (value: number, step: number) => string
}

const HEIGHT_PX = 232
const NARROW_HEIGHT_PX = 190
const NARROW_PX = 520
const TOP_PX = 14
const BOTTOM_PX = 24
const AXIS_PX = 46
const LABEL_CHAR_PX = 6.8
const LABEL_GAP_PX = 10
const TICK_PX = 84
const GAP_PX = 0.8
const ROUND_PX = 3
const DOT_PX = 3
const NO_JUMPS: ReadonlyMap<number, number> = new Map()

/** Columns by time, each split into its parts, or lines. Arrow keys move through the steps. */
export function StepChart(props: StepChartProps) {
  const { label, form, steps, series } = props
  const [ref, widthPx] = useWidth()
  const plot = layOut(widthPx, props)
  const { shown, show, pointing } = useShownStep({
    stepAt(x) {
      const at = Math.floor((x - plot.left) / plot.x.step())
      return at >= 0 && at < steps.length ? at : null
    },
    onOpen: props.onOpen,
  })
  return (
    <div className={props.onOpen === undefined ? 'columns' : 'columns opens'} ref={ref}>
      <input
        className="vh"
        type="range"
        min={0}
        max={steps.length - 1}
        value={shown ?? steps.length - 1}
        aria-label={label}
        aria-valuetext={describe(props, shown ?? steps.length - 1)}
        onChange={(event) => show(Number(event.target.value))}
        onFocus={() => show(shown ?? steps.length - 1)}
        onBlur={() => show(null)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') props.onOpen?.(shown ?? steps.length - 1, null)
        }}
      />
      <svg width={widthPx} height={plot.height} aria-hidden="true" {...pointing}>
        <Axis plot={plot} showAxis={props.showAxis} />
        {form === 'columns' &&
          steps.map((step, at) => (
            <Column
              key={step.getTime()}
              plot={plot}
              at={at}
              isShown={at === shown}
              series={series}
            />
          ))}
        {props.isFilled === true && <Area plot={plot} points={plot.lines[0] ?? []} />}
        {form === 'lines' && <Lines plot={plot} shown={shown} series={series} />}
        <Compared plot={plot} values={props.compared?.values ?? []} />
        <Marks plot={plot} marks={props.marks ?? []} values={series[0]?.values ?? []} />
        <Ticks plot={plot} steps={steps} showTick={props.showTick} />
      </svg>
      {shown !== null && <Tip {...props} plot={plot} at={shown} widthPx={widthPx} />}
    </div>
  )
}

interface TipProps extends StepChartProps {
  readonly plot: Plot
  readonly at: number
  readonly widthPx: number
}

function Tip({ plot, at, widthPx, steps, series, totals, compared = null, ...show }: TipProps) {
  const step = steps[at]
  if (step === undefined) return null
  return (
    <ColumnTip
      title={show.showStep(step)}
      total={textOf(totals[at], show.showValue)}
      leftPx={plot.xOf(at)}
      columnPx={plot.x.bandwidth()}
      widthPx={widthPx}
      compared={
        compared && { name: compared.name, text: textOf(compared.values[at], show.showValue) }
      }
      rows={series.map(({ id, name, tone, values }) => ({
        id,
        name,
        tone,
        value: values[at] ?? 0,
        text: textOf(values[at], show.showValue),
      }))}
    />
  )
}

type Plot = ReturnType<typeof layOut>

function layOut(widthPx: number, props: StepChartProps) {
  const { form, steps, series, compared, jumps = NO_JUMPS, showAxis } = props
  const height = widthPx < NARROW_PX ? NARROW_HEIGHT_PX : HEIGHT_PX
  const layers = stack<number, string>()
    .keys(series.map(({ id }) => id))
    .value((at, id) => series.find((one) => one.id === id)?.values[at] ?? 0)(
    steps.map((_, at) => at),
  )
  const lines = series.map(({ values }, place) =>
    linePoints(values, place === 0 ? jumps : NO_JUMPS),
  )
  const tops =
    form === 'columns'
      ? layers.flatMap((layer) => layer.map(([, to]) => to))
      : lines.flatMap((points) => points.map(({ value }) => value ?? 0))
  const comparedTops = (compared?.values ?? []).slice(0, steps.length).map((value) => value ?? 0)
  const most = [...tops, ...comparedTops].reduce((top, value) => Math.max(top, value), 0)
  const least = form === 'columns' ? 0 : tops.reduce((low, value) => Math.min(low, value), 0)
  const y = scaleLinear()
    .domain([least, Math.max(most, 1)])
    .nice(3)
    .range([height - BOTTOM_PX, TOP_PX])
  // Values are whole numbers, and a chart of nothing has no scale.
  const ticks = most === least ? [0] : y.ticks(3).filter(Number.isInteger)
  const tickStep = (ticks[1] ?? 1) - (ticks[0] ?? 0)
  const labelChars = Math.max(...ticks.map((value) => showAxis(value, tickStep).length))
  const left = Math.max(AXIS_PX, labelChars * LABEL_CHAR_PX + LABEL_GAP_PX)
  const x = scaleBand<number>()
    .domain(steps.map((_, at) => at))
    .range([left, Math.max(left + 1, widthPx)])
    .paddingInner(0.32)
    .paddingOuter(0.16)
  const xOf = (at: number) => x(at) ?? 0
  return { height, left, right: widthPx, x, y, ticks, tickStep, layers, lines, xOf }
}

function Axis({ plot, showAxis }: { plot: Plot } & Pick<StepChartProps, 'showAxis'>) {
  return plot.ticks.map((value) => (
    <g key={value} transform={`translate(0,${Math.round(plot.y(value)) + 0.5})`}>
      <line className={value === 0 ? 'baseline' : 'gridline'} x1={plot.left} x2={plot.right} />
      <text x={plot.left - 8} dy="0.32em" textAnchor="end">
        {showAxis(value, plot.tickStep)}
      </text>
    </g>
  ))
}

function Ticks({
  plot,
  steps,
  showTick,
}: { plot: Plot } & Pick<StepChartProps, 'steps' | 'showTick'>) {
  const every = Math.max(1, Math.ceil(TICK_PX / plot.x.step()))
  return steps.map((step, at) => {
    // Counted from the newest, which always has its label.
    if ((steps.length - 1 - at) % every !== 0) return null
    const later = steps[at + every]
    // Two hours of one day have the same label.
    if (later !== undefined && showTick(later) === showTick(step)) return null
    const middle = plot.xOf(at) + plot.x.bandwidth() / 2
    const text = showTick(step)
    const hasRoom = middle + (text.length * LABEL_CHAR_PX) / 2 <= plot.right
    return (
      <text
        key={step.getTime()}
        x={hasRoom ? middle : plot.right}
        y={plot.height - 5}
        textAnchor={hasRoom ? 'middle' : 'end'}
      >
        {text}
      </text>
    )
  })
}

interface ColumnProps {
  readonly plot: Plot
  readonly at: number
  readonly isShown: boolean
  readonly series: readonly ChartSeries[]
}

function Column({ plot, at, isShown, series }: ColumnProps) {
  const left = plot.xOf(at)
  const width = plot.x.bandwidth()
  const top = plot.layers.findLastIndex((layer) => (layer[at]?.[1] ?? 0) > (layer[at]?.[0] ?? 0))
  return (
    <g className={isShown ? 'column on' : 'column'}>
      <rect
        className="column-hit"
        x={left - width * 0.12}
        y={TOP_PX - 6}
        width={width * 1.24}
        height={plot.height - BOTTOM_PX - TOP_PX + 6}
        rx={3}
      />
      {plot.layers.map((layer, index) => {
        const [from = 0, to = 0] = layer[at] ?? []
        if (to <= from) return null
        const bottom = plot.y(from) - (from === 0 ? 0 : GAP_PX)
        const path = columnPath({ left, width, top: plot.y(to), bottom, isTop: index === top })
        return (
          <path
            key={layer.key}
            data-group={layer.key}
            className={`of-${series[index]?.tone ?? 5}`}
            d={path}
          />
        )
      })}
    </g>
  )
}

interface LinesProps {
  readonly plot: Plot
  readonly shown: number | null
  readonly series: readonly ChartSeries[]
}

/** A line for each series, which ends where it has no value, and a dot where there is no line. */
function Lines({ plot, shown, series }: LinesProps) {
  const middleOf = (at: number) => plot.xOf(at) + plot.x.bandwidth() / 2
  const draw = line<LinePoint>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => middleOf(at))
    .y(({ value }) => plot.y(value ?? 0))
  return (
    <>
      {shown !== null && (
        <line
          className="baseline"
          x1={middleOf(shown)}
          x2={middleOf(shown)}
          y1={TOP_PX}
          y2={plot.height - BOTTOM_PX}
        />
      )}
      {/* The first series is drawn last, above the others. */}
      {[...series.entries()].toReversed().map(([place, { id, tone, values }]) => (
        <g key={id} className={`line-${tone}`}>
          <path d={draw(plot.lines[place] ?? []) ?? ''} />
          {values.map((value, at) =>
            value !== null && (at === shown || isAlone(values, at)) ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
              <circle key={at} cx={middleOf(at)} cy={plot.y(value)} r={DOT_PX} />
            ) : null,
          )}
        </g>
      ))}
    </>
  )
}

function Area({ plot, points }: { plot: Plot; points: readonly LinePoint[] }) {
  const draw = area<LinePoint>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => plot.xOf(at) + plot.x.bandwidth() / 2)
    .y0(plot.y(0))
    .y1(({ value }) => plot.y(value ?? 0))
  return <path className="area" d={draw(points) ?? ''} />
}

const MARK_PX = 4.5
const MARK_TEXT_PX = 46
const MARK_ABOVE_PX = 10

interface MarksProps {
  readonly plot: Plot
  readonly values: ChartSeries['values']
  readonly marks: readonly Mark[]
}

/** Each has a circle, and its text unless that of the one before is in its place. */
function Marks({ plot, values, marks }: MarksProps) {
  let textUntil = -Infinity
  return marks.map(({ at, text }) => {
    const x = plot.xOf(at) + plot.x.bandwidth() / 2
    const y = plot.y(values[at] ?? 0)
    const hasText = x - MARK_TEXT_PX / 2 >= textUntil
    if (hasText) textUntil = x + MARK_TEXT_PX / 2
    return (
      <g key={at} className="mark">
        <circle cx={x} cy={y} r={MARK_PX} />
        {hasText && (
          <text
            x={Math.min(x, plot.right - MARK_TEXT_PX / 2)}
            y={y - MARK_ABOVE_PX}
            textAnchor="middle"
          >
            {text}
          </text>
        )}
      </g>
    )
  })
}

/** The time that the chart is compared with, step by step; what it has more of is left out. */
function Compared({ plot, values }: { plot: Plot; values: readonly (number | null)[] }) {
  const draw = line<number | null>()
    .defined((value, at) => value !== null && plot.x(at) !== undefined)
    .x((_, at) => plot.xOf(at) + plot.x.bandwidth() / 2)
    .y((value) => plot.y(value ?? 0))
  return values.length === 0 ? null : <path className="compared" d={draw(values) ?? ''} />
}

function isAlone(values: ChartSeries['values'], at: number): boolean {
  return (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null
}

interface Box {
  readonly left: number
  readonly width: number
  readonly top: number
  readonly bottom: number
  readonly isTop: boolean
}

/** A rectangle; the topmost has round corners. At least half a pixel high, so that a little still shows. */
function columnPath({ left, width, top, bottom, isTop }: Box): string {
  const height = Math.max(0.5, bottom - top)
  const round = isTop ? Math.min(ROUND_PX, height, width / 2) : 0
  return `M${left},${bottom}v${round - height}q0,${-round} ${round},${-round}h${width - 2 * round}q${round},0 ${round},${round}v${height - round}z`
}

function describe(
  { steps, series, totals, compared = null, showStep, showValue }: StepChartProps,
  at: number,
): string {
  const step = steps[at]
  if (step === undefined) return ''
  const isShown = ({ values }: ChartSeries) => (values[at] ?? 0) > 0
  const parts = [...series.filter(isShown), ...(compared === null ? [] : [compared])].map(
    ({ name, values }) => `${name} ${textOf(values[at], showValue)}`,
  )
  return [`${showStep(step)}: ${textOf(totals[at], showValue)}`, ...parts].join(', ')
}

function textOf(value: number | null | undefined, showValue: (value: number) => string): string {
  return value === null || value === undefined ? '–' : showValue(value)
}
