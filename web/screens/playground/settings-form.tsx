import { useId } from 'react'
import { Field } from '../../parts/field.tsx'
import type { Typed } from './chat-store.ts'

interface SettingsFormProps {
  readonly typed: Typed
  readonly onChange: (part: Partial<Typed>) => void
  readonly takesTemperature: boolean
}

/** The settings of the next request. */
export function SettingsForm(props: SettingsFormProps) {
  const { typed, onChange, takesTemperature } = props
  const systemId = useId()
  const isCapWrong = typed.cap.trim() !== '' && !/^[1-9]\d*$/.test(typed.cap.trim())
  const degree = Number(typed.temperature)
  const isDegreeWrong = !(degree >= 0 && degree <= 2)
  return (
    <>
      <div className="fld">
        <label htmlFor={systemId}>System prompt</label>
        <textarea
          id={systemId}
          className="inp area"
          rows={3}
          value={typed.system}
          placeholder="How the model should answer"
          onChange={(event) => onChange({ system: event.target.value })}
        />
      </div>
      <div className="pair">
        <Field
          label="Output cap"
          name="cap"
          className="num"
          inputMode="numeric"
          autoComplete="off"
          value={typed.cap}
          onChange={(event) => onChange({ cap: event.target.value })}
          error={isCapWrong ? 'Enter a whole number of tokens, or leave it empty.' : null}
          hint="Tokens. Sets the hold."
        />
        {takesTemperature && (
          <Field
            label="Temperature"
            name="temperature"
            placeholder="default"
            className="num"
            inputMode="decimal"
            autoComplete="off"
            value={typed.temperature}
            onChange={(event) => onChange({ temperature: event.target.value })}
            error={isDegreeWrong ? 'Enter 0 to 2, or leave it empty.' : null}
            hint="0 to 2"
          />
        )}
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={typed.isStreamed}
          onChange={(event) => onChange({ isStreamed: event.target.checked })}
        />
        Stream the answer
      </label>
    </>
  )
}
