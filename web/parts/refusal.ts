import { ApiError } from '../api/client.ts'

/** Where a form shows what the server refused. */
interface Refusal {
  /** What is wrong with a field; null: nothing that the server named. */
  readonly at: (field: string) => string | null
  /** What is wrong with no field of the form; null: nothing. */
  readonly rest: string | null
}

/**
 * What the server refused of a form: at the field that it names, or at the form's end. `isField` knows fields beside
 * `fields` that show it themselves; default: there are none.
 */
export function refusalOf(
  error: Error | null,
  fields: readonly string[],
  isField: (param: string) => boolean = () => false,
): Refusal {
  const param = error instanceof ApiError ? error.param : null
  const isOfField = param !== null && (fields.includes(param) || isField(param))
  return {
    at: (field) => (error !== null && param === field ? error.message : null),
    rest: error === null || isOfField ? null : error.message,
  }
}
