import { ApiError } from '../api/client.ts'

/** The places of a form that show the server's refusal. */
interface Refusal {
  /** The server's fault of a field; null: none. */
  readonly at: (field: string) => string | null
  /** A fault that belongs to no field of the form; null: none. */
  readonly rest: string | null
}

/**
 * The server's refusal of a form: at the field that it names, or at the form's end. `isField` knows fields in
 * addition to `fields` that show it themselves; default: there are none.
 */
export function refusalOf(
  error: Error | null,
  fields: readonly string[],
  isField: (param: string) => boolean = () => false,
): Refusal {
  const param = error instanceof ApiError ? error.param : null
  const isShownAtField = param !== null && (fields.includes(param) || isField(param))
  return {
    at: (field) => (error !== null && param === field ? belowField(error.message) : null),
    rest: error === null || isShownAtField ? null : error.message,
  }
}

/** A message as it is shown below its field, whose name in the API it need not repeat. */
export function belowField(message: string): string {
  return message.replace(/^`[^`]+` must/, 'Must')
}
