import { type Endpoint, useModels } from './use-models.ts'

interface ModelSelectProps {
  /** The models that are shown are answered in one of these formats. */
  readonly formats: readonly Endpoint[]
  readonly value: string
  readonly onChange: (modelId: string) => void
}

/** One of the catalog's models, in the browser's own list. */
export function ModelSelect({ formats, value, onChange }: ModelSelectProps) {
  const ids = useModels(formats).map(({ id }) => id)
  const shown = ids.includes(value) ? ids : [value, ...ids]
  return (
    <label className="fld">
      Model
      <select className="inp" value={value} onChange={(event) => onChange(event.target.value)}>
        {shown.map((id) => (
          <option key={id}>{id}</option>
        ))}
      </select>
    </label>
  )
}
