import type { TableOf } from '../store/table.ts'
import type { USAGE_ERRORS } from '../store/usage-tables.ts'
import type { UsageStep } from '../vocabulary/usage-step.ts'
import type { UsageRow } from './sums.ts'

/** The failed requests of a group that ended with one code. */
export type ErrorsRow = TableOf<typeof USAGE_ERRORS>

/** How the requests of a row ended. */
export interface FailedOf {
  /** Null: without an error. */
  readonly error_code: string | null
  /** The newest of them. */
  readonly latest_id: string
}

/** The failed requests of an hour or day by group and error code. */
export class ErrorsByGroup {
  readonly #of: Pick<ErrorsRow, 'step' | 'number'>
  readonly #rows = new Map<string, ErrorsRow>()

  constructor(of: { readonly step: UsageStep; readonly number: number }) {
    this.#of = of
  }

  get all(): readonly ErrorsRow[] {
    return [...this.#rows.values()]
  }

  add({
    error_code: code,
    latest_id,
    requests,
    ...row
  }: UsageRow & FailedOf & Pick<ErrorsRow, 'api_key_id'>): void {
    if (code === null) return
    const { account_id, api_key_id, model_id, endpoint, upstream } = row
    const group = { account_id, api_key_id, model_id, endpoint, upstream, code }
    const name = Object.values(group).join(' ')
    const earlier = this.#rows.get(name)
    const isNewer = earlier === undefined || earlier.latest_id < latest_id
    this.#rows.set(name, {
      ...this.#of,
      ...group,
      requests: requests + (earlier?.requests ?? 0),
      latest_id: isNewer ? latest_id : earlier.latest_id,
    })
  }
}
