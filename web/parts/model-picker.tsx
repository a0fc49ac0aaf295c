import { type KeyboardEvent, useId, useRef, useState } from 'react'
import type { Model } from '../api/answers.ts'
import { pricesText } from '../format/prices.ts'
import { Icon } from './icon.tsx'
import { ModelName } from './model-name.tsx'
import { Popover } from './popover.tsx'

interface ModelPickerProps {
  readonly models: readonly Model[]
  readonly value: string
  readonly onChange: (modelId: string) => void
}

/** One of the models, found by name or ID, with its prices. */
export function ModelPicker({ models, value, onChange }: ModelPickerProps) {
  const id = useId()
  return (
    <div className="fld">
      <span id={id}>Model</span>
      <Popover
        label="Models"
        className="picker"
        button={(button) => (
          <button type="button" className="inp pick" aria-describedby={id} {...button}>
            <span className="model">
              <ModelName id={value} />
            </span>
            <Icon name="down" small />
          </button>
        )}
      >
        {(close) => (
          <Options
            models={models}
            value={value}
            onPick={(modelId) => {
              close()
              onChange(modelId)
            }}
          />
        )}
      </Popover>
    </div>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
const SHOWN_MAX = 60

interface OptionsProps extends Pick<ModelPickerProps, 'models' | 'value'> {
  readonly onPick: (modelId: string) => void
}

function Options({ models, value, onPick }: OptionsProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const found = models
    .filter((model) => `${model.id} ${model.name}`.toLowerCase().includes(wanted))
    .slice(0, SHOWN_MAX)
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      found.findIndex((model) => model.id === value),
    ),
  )
  const current = Math.min(at, found.length - 1)
  const move = (to: number) => {
    setAt(to)
    list.current?.children[to]?.scrollIntoView({ block: 'nearest' })
  }
  const onKey = (event: KeyboardEvent) => {
    const by = STEPS[event.key]
    const picked = found[current]
    if (by !== undefined && found.length > 0) {
      event.preventDefault()
      move((current + by + found.length) % found.length)
    }
    if (event.key === 'Enter' && picked !== undefined) {
      event.preventDefault()
      onPick(picked.id)
    }
  }
  return (
    <>
      <input
        className="menu-find"
        role="combobox"
        aria-label="Find a model"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
        placeholder="Name or ID"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKey}
      />
      {found.length === 0 ? (
        <p className="note px-2.5 py-2">No model matches.</p>
      ) : (
        <div ref={list} role="listbox" id={`${id}-list`} aria-label="Models">
          {found.map((model, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field, which names the current option
            <div
              key={model.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === current}
              className="menu-item"
              onClick={() => onPick(model.id)}
              onPointerMove={() => setAt(index)}
            >
              <span className="model">
                <ModelName id={model.id} />
              </span>
              <small className="num">{pricesText(model)}</small>
            </div>
          ))}
        </div>
      )}
    </>
  )
}
