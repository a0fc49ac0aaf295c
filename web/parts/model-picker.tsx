import { useId, useState } from 'react'
import type { Model } from '../api/answers.ts'
import { pricesText } from '../format/prices.ts'
import { Icon } from './icon.tsx'
import { Matches, useMatches } from './matches.tsx'
import { ModelName } from './model-name.tsx'
import { Popover } from './popover.tsx'

interface ModelPickerProps {
  readonly models: readonly Model[]
  readonly value: string
  readonly onChange: (modelId: string) => void
  /** The fault of the value; null: there is none. */
  readonly error: string | null
}

/** One of the models, found by name or ID, with its prices. */
export function ModelPicker({ models, value, onChange, error }: ModelPickerProps) {
  const id = useId()
  const [valueId, errorId] = [`${id}-value`, `${id}-error`]
  return (
    <div className="fld">
      <span id={id}>Model</span>
      <Popover
        label="Models"
        align="end"
        className="picker"
        button={(button) => (
          <button
            type="button"
            className="inp pick"
            aria-labelledby={`${id} ${valueId}`}
            aria-describedby={error === null ? undefined : errorId}
            {...button}
          >
            <span className="model" id={valueId}>
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
      {error !== null && (
        <small id={errorId} className="err">
          {error}
        </small>
      )}
    </div>
  )
}

const SHOWN_MAX = 60

interface OptionsProps extends Pick<ModelPickerProps, 'models' | 'value'> {
  readonly onPick: (modelId: string) => void
}

function Options({ models, value, onPick }: OptionsProps) {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const matching = models.filter((model) =>
    `${model.id} ${model.name}`.toLowerCase().includes(wanted),
  )
  const found = matching.slice(0, SHOWN_MAX)
  const matches = useMatches({
    rows: found,
    startAt: Math.max(
      0,
      found.findIndex((model) => model.id === value),
    ),
    onPick: (model) => onPick(model.id),
  })
  return (
    <>
      <input
        className="menu-find"
        aria-label="Find a model"
        placeholder="Name or ID"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          matches.setAt(0)
        }}
        {...matches.field}
      />
      {found.length === 0 ? (
        <p className="note px-2.5 py-2">No model matches.</p>
      ) : (
        <Matches of={matches} label="Models">
          {(model) => (
            <>
              <span className="model">
                <ModelName id={model.id} />
              </span>
              <small className="num">{pricesText(model)}</small>
            </>
          )}
        </Matches>
      )}
      {matching.length > SHOWN_MAX && (
        <p className="note px-2.5 py-2">{matching.length - SHOWN_MAX} more: type to find them.</p>
      )}
    </>
  )
}
