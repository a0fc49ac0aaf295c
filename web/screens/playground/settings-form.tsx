import { useId, useState } from 'react'
import { Field } from '../../parts/field.tsx'
import { ModelSelect } from '../../parts/model-select.tsx'
import { SPOKEN } from './formats.ts'

/** The fields as they are typed. */
export interface AskedFor {
  readonly system: string
  /** Empty: none. */
  readonly cap: string
  /** Empty: the model's own. */
  readonly temperature: string
  readonly isStreamed: boolean
}

interface SettingsFormProps {
  readonly modelId: string
  readonly onModel: (modelId: string) => void
  readonly fields: AskedFor
  readonly onChange: (fields: AskedFor) => void
  readonly takesTemperature: boolean
}

/** What is asked for beside the messages. */
export function SettingsForm(props: SettingsFormProps) {
  const { modelId, onModel, fields, onChange, takesTemperature } = props
  const systemId = useId()
  // On a phone, where the conversation stands below.
  const [isOpen, setOpen] = useState(false)
  const isCapWrong = fields.cap.trim() !== '' && !/^[1-9]\d*$/.test(fields.cap.trim())
  const degree = Number(fields.temperature)
  const isDegreeWrong = !(degree >= 0 && degree <= 2)
  return (
    <div className="asked">
      <ModelSelect formats={SPOKEN} value={modelId} onChange={onModel} />
      <button
        type="button"
        className="btn only-s"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? 'Fewer settings' : 'System, cap and more'}
      </button>
      <div className={`grid gap-4 ${isOpen ? '' : 'hide-s'}`}>
        <div className="fld">
          <label htmlFor={systemId}>System</label>
          <textarea
            id={systemId}
            className="inp area"
            rows={3}
            value={fields.system}
            placeholder="What the model is to be and do"
            onChange={(event) => onChange({ ...fields, system: event.target.value })}
          />
        </div>
        <div className="pair">
          <Field
            label="Output cap"
            name="cap"
            className="num"
            inputMode="numeric"
            autoComplete="off"
            value={fields.cap}
            onChange={(event) => onChange({ ...fields, cap: event.target.value })}
            error={isCapWrong ? 'A whole number of tokens, or nothing.' : null}
            hint="Tokens; empty: the model’s maximum."
          />
          {takesTemperature && (
            <Field
              label="Temperature"
              name="temperature"
              className="num"
              inputMode="decimal"
              autoComplete="off"
              value={fields.temperature}
              onChange={(event) => onChange({ ...fields, temperature: event.target.value })}
              error={isDegreeWrong ? '0 to 2, or nothing.' : null}
              hint="0 to 2; empty: the model’s own."
            />
          )}
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={fields.isStreamed}
            onChange={(event) => onChange({ ...fields, isStreamed: event.target.checked })}
          />
          Show the answer as it comes
        </label>
      </div>
    </div>
  )
}
