import type { ApiKey } from '../api/answers.ts'
import { money } from '../format/money.ts'
import { modelsText } from '../format/terms.ts'
import { dayAndShortMinute } from '../format/time.ts'
import { Time } from './time.tsx'

const PERIOD_WORDS = { day: 'today', week: 'this week', month: 'this month' } as const

/** The spend of an allowance in its period, and when it resets; nothing without an allowance. */
export function AllowanceLine({ allowance }: Pick<ApiKey, 'allowance'>) {
  if (allowance === null) return null
  const { amount, period, time_zone: zone, spent, held, resets_at: resetsAt } = allowance
  return (
    <span className="two" title={`Days of ${zone}`}>
      Allowance: {money(spent)} of {money(amount)} {PERIOD_WORDS[period]}
      {held > 0 && `, ${money(held)} held`}, resets <Time at={resetsAt} show={dayAndShortMinute} />
    </span>
  )
}

/** The models that may be used, in one line; nothing where all may. */
export function OnlyModels({ models }: Pick<ApiKey, 'models'>) {
  if (models === null) return null
  return <span className="two wrap-anywhere">{modelsText(models)}</span>
}

/** The notes of a program on a key or an account, in one line; nothing where there are none. */
export function MetadataLine({ metadata }: Pick<ApiKey, 'metadata'>) {
  const notes = Object.entries(metadata).map(([name, value]) => `${name}: ${value}`)
  if (notes.length === 0) return null
  return <span className="two wrap-anywhere">{notes.join(', ')}</span>
}
