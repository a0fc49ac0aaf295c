import { useState } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { MenuFind } from './menu-find.tsx'
import { Popover } from './popover.tsx'
import { PartFailed, type Read } from './states.tsx'

/** Something to pick. */
export interface Option {
  readonly value: string
  readonly text: string
  /** Other words that it is found by. Default: none. */
  readonly also?: string
}

interface ChooseProps {
  readonly label: string
  /** Shown in place of the label. Default: the label is shown. */
  readonly icon?: IconName
  readonly options: readonly Option[]
  readonly value: string
  /** The value of no choice, with which only the label is shown. Default: each value is one. */
  readonly unset?: string
  readonly onChange: (value: string) => void
}

/** One of some, in a panel. */
export function Choose({ label, icon, options, value, unset, onChange }: ChooseProps) {
  const shown = options.find((option) => option.value === value)
  return (
    <Popover
      label={label}
      button={(button) => (
        <button type="button" className={value === unset ? 'pill' : 'pill on'} {...button}>
          {icon === undefined ? null : <Icon name={icon} small />}
          {value === unset ? (
            label
          ) : icon === undefined ? (
            <>
              {label}: <em>{shown?.text}</em>
            </>
          ) : (
            <>
              <span className="vh">{label}: </span>
              {shown?.text}
            </>
          )}
          {value === unset ? null : <Icon name="down" small />}
        </button>
      )}
    >
      {(close) =>
        options.map((option) => (
          <button
            key={option.value}
            type="button"
            className="menu-item"
            aria-pressed={option.value === value}
            onClick={() => {
              close()
              onChange(option.value)
            }}
          >
            <span className="flex-1">{option.text}</span>
            {option.value === value && <Icon name="check" small />}
          </button>
        ))
      }
    </Popover>
  )
}

interface PickManyProps {
  readonly className?: string
  readonly label: string
  readonly options: readonly Option[]
  readonly picked: readonly string[]
  /** Whether a typed text that is not an option can be picked. Default: no. */
  readonly takesOthers?: true
  /** The calls that list the options, by what they list: "The models". Default: none. */
  readonly reads?: Readonly<Record<string, Read>>
  readonly onChange: (values: readonly string[]) => void
}

const FIND_FROM = 8
const SHOWN_MAX = 100

/** Any of many: check boxes in a panel, with a field to find them by where there are many. */
export function PickMany(props: PickManyProps) {
  const { label, options, picked, className = '' } = props
  const [one] = picked
  const text =
    picked.length === 1
      ? options.find(({ value }) => value === one)?.text
      : `any of ${picked.length}`
  return (
    <Popover
      label={label}
      button={(button) => (
        <button
          type="button"
          className={`pill ${picked.length === 0 ? className : 'on'}`}
          {...button}
        >
          {picked.length === 0 ? (
            label
          ) : (
            <>
              {label}: <em>{text}</em>
            </>
          )}
        </button>
      )}
    >
      {(close) => <Boxes {...props} close={close} />}
    </Popover>
  )
}

function Boxes(props: PickManyProps & { close: () => void }) {
  const { label, options, picked, takesOthers = false, reads = {}, onChange, close } = props
  const isWhole = Object.values(reads).every(({ data, error }) => data !== undefined || !error)
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = options.filter(({ text: shown, also = '' }) =>
    `${shown}\n${also}`.toLowerCase().includes(wanted),
  )
  const typed = text.trim()
  const isOther = takesOthers && typed !== '' && !options.some(({ value }) => value === typed)
  return (
    <>
      {(takesOthers || options.length >= FIND_FROM) && (
        <MenuFind label={`Find: ${label}`} placeholder="Find" value={text} onChange={setText} />
      )}
      {Object.entries(reads).map(([what, query]) => (
        <PartFailed key={what} what={what} query={query} />
      ))}
      {found.slice(0, SHOWN_MAX).map((option) => (
        <label key={option.value} className="menu-item">
          <input
            type="checkbox"
            checked={picked.includes(option.value)}
            onChange={(event) =>
              onChange(
                event.target.checked
                  ? [...picked, option.value]
                  : picked.filter((value) => value !== option.value),
              )
            }
          />
          <span>{option.text}</span>
        </label>
      ))}
      {isOther && (
        <button
          type="button"
          className="menu-item"
          onClick={() => {
            close()
            onChange([...picked, typed])
          }}
        >
          <Icon name="plus" small /> <span>{typed}</span>
        </button>
      )}
      {found.length === 0 && !takesOthers && isWhole && (
        <p className="note px-2.5 py-2">No match.</p>
      )}
      {found.length > SHOWN_MAX && (
        <p className="note px-2.5 py-2">{found.length - SHOWN_MAX} more: type to find them.</p>
      )}
      {picked.length > 0 && (
        <>
          <div className="menu-rule" />
          <button
            type="button"
            className="menu-item"
            onClick={() => {
              close()
              onChange([])
            }}
          >
            <Icon name="close" small /> <span>Any</span>
          </button>
        </>
      )}
    </>
  )
}
