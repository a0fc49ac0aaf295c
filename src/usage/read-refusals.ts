import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/schema.ts'
import { OTHER_KEYS } from './refusal-counter.ts'

interface RefusalsQuery {
  readonly accountId: string
  /** Hours since the Unix epoch: from the first on, before the other. */
  readonly fromHour: number
  readonly untilHour: number
  /** The most rows by API key and code. */
  readonly keysMax: number
}

/** Refused requests that were answered with one code. */
interface CountedCode {
  readonly code: string
  readonly requests: number
  /** When the latest of them was answered. */
  readonly latest_at_ms: number
}

/** Refused requests of an account, the most frequent first. */
interface CountedRefusals {
  readonly codes: readonly CountedCode[]
  /** The same by API key, but for requests that were counted without theirs. */
  readonly keys: readonly (CountedCode & { readonly api_key_id: string })[]
}

/** Counts the refused requests of an account in whole hours. */
export async function readRefusals(
  db: Kysely<Tables>,
  { accountId, fromHour, untilHour, keysMax }: RefusalsQuery,
): Promise<CountedRefusals> {
  const figures = sql`cast(sum(requests) as bigint) as requests, max(latest_at_ms) as latest_at_ms`
  const where = sql`account_id = ${accountId} and hour >= ${fromHour} and hour < ${untilHour}`
  const { rows: codes } = await sql<CountedCode>`
    select code, ${figures} from refusals where ${where}
    group by code order by 2 desc, code`.execute(db)
  const { rows: keys } = await sql<CountedCode & { readonly api_key_id: string }>`
    select code, api_key_id, ${figures} from refusals where ${where} and api_key_id <> ${OTHER_KEYS}
    group by code, api_key_id order by 3 desc, code, api_key_id limit ${sql.lit(keysMax)}`.execute(
    db,
  )
  return { codes, keys }
}
