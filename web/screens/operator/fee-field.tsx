import { readPercent } from '../../format/numbers.ts'
import { Field } from '../../parts/field.tsx'

interface FeeFieldProps {
  /** As it is typed, in percent. */
  readonly fee: string
  readonly onChange: (fee: string) => void
  /** The refusal of the server; null: none. */
  readonly error: string | null
}

/** The platform fee of an account, in percent; without one, that of the model. */
export function FeeField({ fee, onChange, error }: FeeFieldProps) {
  return (
    <Field
      label="Platform fee in percent"
      name="fee_basis_points"
      className="num"
      inputMode="decimal"
      autoComplete="off"
      placeholder="The model’s fee"
      value={fee}
      onChange={(event) => onChange(event.target.value)}
      hint="Percent of the provider cost. Running requests keep their fee."
      error={
        readPercent(fee) === undefined
          ? 'Enter a percentage from 0 to 100 with at most two decimal places, or leave it empty.'
          : error
      }
    />
  )
}
