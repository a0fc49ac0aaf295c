import type { Kysely } from 'kysely'
import type { Tables } from '../schema.ts'
import { up as ledger } from './0001-ledger.ts'
import { up as creditCodes } from './0002-credit-codes.ts'
import { up as prunedRequests } from './0003-pruned-requests.ts'
import { up as requestUpstream } from './0004-request-upstream.ts'
import { up as usage } from './0005-usage.ts'
import { up as people } from './0006-people.ts'
import { up as operators } from './0007-operators.ts'
import { up as purchases } from './0008-purchases.ts'
import { up as playCheckouts } from './0009-play-checkouts.ts'
import { up as sale } from './0010-sale.ts'
import { up as upstreamLists } from './0011-upstream-lists.ts'
import { up as standingCosts } from './0012-standing-costs.ts'
import { up as deposits } from './0013-deposits.ts'
import { up as requestTags } from './0014-request-tags.ts'
import { up as adminTokens } from './0015-admin-tokens.ts'
import { up as fees } from './0016-fees.ts'
import { up as modelLists } from './0017-model-lists.ts'
import { up as limits } from './0018-limits.ts'
import { up as webhooks } from './0019-webhooks.ts'
import { up as accountFields } from './0020-account-fields.ts'
import { up as programSchemas } from './0021-program-schemas.ts'
import { up as mailedLinks } from './0022-mailed-links.ts'
import { up as sessionUse } from './0023-session-use.ts'
import { up as secondFactors } from './0024-second-factors.ts'
import { up as alerts } from './0025-alerts.ts'
import { up as passkeys } from './0026-passkeys.ts'
import { up as vouched } from './0027-vouched.ts'
import { up as suspensions } from './0028-suspensions.ts'
import { up as mailTimes } from './0029-mail-times.ts'
import { up as storeGaps } from './0030-store-gaps.ts'
import { up as sessionGuard } from './0031-session-guard.ts'
import { up as costs } from './0032-costs.ts'
import { up as keyRotation } from './0033-key-rotation.ts'

/** One step of the schema. Once released it never changes: a change is a new step. */
export interface Migration {
  /** Counts from 1 without gaps. */
  readonly number: number
  readonly name: string
  /** Written in Kysely alone, so that it means the same on every engine. */
  up(db: Kysely<Tables>): Promise<void>
}

/** Every step, in order. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'ledger', up: ledger },
  { number: 2, name: 'credit-codes', up: creditCodes },
  { number: 3, name: 'pruned-requests', up: prunedRequests },
  { number: 4, name: 'request-upstream', up: requestUpstream },
  { number: 5, name: 'usage', up: usage },
  { number: 6, name: 'people', up: people },
  { number: 7, name: 'operators', up: operators },
  { number: 8, name: 'purchases', up: purchases },
  { number: 9, name: 'play-checkouts', up: playCheckouts },
  { number: 10, name: 'sale', up: sale },
  { number: 11, name: 'upstream-lists', up: upstreamLists },
  { number: 12, name: 'standing-costs', up: standingCosts },
  { number: 13, name: 'deposits', up: deposits },
  { number: 14, name: 'request-tags', up: requestTags },
  { number: 15, name: 'admin-tokens', up: adminTokens },
  { number: 16, name: 'fees', up: fees },
  { number: 17, name: 'model-lists', up: modelLists },
  { number: 18, name: 'limits', up: limits },
  { number: 19, name: 'webhooks', up: webhooks },
  { number: 20, name: 'account-fields', up: accountFields },
  { number: 21, name: 'program-schemas', up: programSchemas },
  { number: 22, name: 'mailed-links', up: mailedLinks },
  { number: 23, name: 'session-use', up: sessionUse },
  { number: 24, name: 'second-factors', up: secondFactors },
  { number: 25, name: 'alerts', up: alerts },
  { number: 26, name: 'passkeys', up: passkeys },
  { number: 27, name: 'vouched', up: vouched },
  { number: 28, name: 'suspensions', up: suspensions },
  { number: 29, name: 'mail-times', up: mailTimes },
  { number: 30, name: 'store-gaps', up: storeGaps },
  { number: 31, name: 'session-guard', up: sessionGuard },
  { number: 32, name: 'costs', up: costs },
  { number: 33, name: 'key-rotation', up: keyRotation },
]

/** The newest schema that this program knows. */
export const PROGRAM_SCHEMA: number = MIGRATIONS.length
