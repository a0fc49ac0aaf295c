interface ColumnTipProps {
  readonly title: string
  readonly total: string
  readonly leftPx: number
  readonly columnPx: number
  readonly widthPx: number
  /** The sum of the step that it is compared with; null: no comparison. */
  readonly compared: { readonly name: string; readonly text: string } | null
  readonly rows: readonly {
    readonly id: string
    readonly name: string
    readonly tone: number
    readonly value: number
    readonly text: string
  }[]
}

const WIDTH_PX = 260
const GAP_PX = 12

/** The parts of a column, next to it: on its left if there is no room on its right. */
export function ColumnTip({
  title,
  total,
  leftPx,
  columnPx,
  widthPx,
  compared,
  rows,
}: ColumnTipProps) {
  const isRight = leftPx + columnPx + GAP_PX + WIDTH_PX < widthPx
  const style = isRight
    ? { left: leftPx + columnPx + GAP_PX }
    : { right: Math.max(0, Math.min(widthPx - leftPx + GAP_PX, widthPx - WIDTH_PX)) }
  return (
    <div className="tip" style={style} aria-hidden="true">
      <h3>
        <span>{title}</span>
        <span>{total}</span>
      </h3>
      <dl>
        {rows
          .filter(({ value }) => value > 0)
          .map(({ id, name, tone, text }) => (
            <div key={id} className="contents">
              <dt>
                <i className={`swatch of-${tone}`} />
                <span>{name}</span>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        {compared !== null && (
          <>
            <dt>
              <i className="swatch dashed" />
              <span>{compared.name}</span>
            </dt>
            <dd>{compared.text}</dd>
          </>
        )}
      </dl>
    </div>
  )
}
