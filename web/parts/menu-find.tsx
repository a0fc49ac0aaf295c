interface MenuFindProps {
  /** "Search accounts". */
  readonly label: string
  /** Default: the label. */
  readonly placeholder?: string
  readonly value: string
  readonly onChange: (text: string) => void
}

/** The field at the top of a panel that finds something in its list. */
export function MenuFind({ label, placeholder = label, value, onChange }: MenuFindProps) {
  return (
    <input
      className="menu-find"
      type="search"
      value={value}
      aria-label={label}
      placeholder={placeholder}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
