interface SegmentsProps<T extends string> {
  readonly label: string
  readonly options: readonly { readonly value: T; readonly text: string }[]
  readonly value: T
  readonly onChange: (value: T) => void
  readonly className?: string
}

/** One of a few: buttons side by side. */
export function Segments<T extends string>(props: SegmentsProps<T>) {
  const { label, options, value, onChange, className = '' } = props
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be laid out as one line in every browser
    <div className={`seg ${className}`} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  )
}
