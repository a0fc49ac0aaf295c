import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { CostClaim } from '../journey/journey-parts.ts'
import type { Tables } from '../store/schema.ts'
import { settingOnce } from '../store/settings.ts'
import type { DoubtUnit } from './doubts.ts'

/** Which reported costs are looked up. */
interface LookupSettings {
  /** `verify`: those that are worth asking; `all`: each. */
  readonly lookups: 'verify' | 'all'
  /** Charges above it are looked up. */
  readonly aboveMicros: number
}

interface PolicyInput {
  readonly settings: LookupSettings
  /** The secret of the deployment, which makes the draw impossible to predict. */
  readonly drawSecret: string
  readonly doubts: { covers(unit: DoubtUnit): boolean }
}

/** One of so many reported costs is looked up by lot. */
export const DRAWN_ONE_OF = 100

const SECRET_BYTES = 32

/**
 * Decides which reported costs stand without a look-up. The lot is a hash of the secret and the request's id, so that
 * every process draws the same ones, before and after a restart.
 */
export class LookupPolicy {
  readonly #input: PolicyInput

  constructor(input: PolicyInput) {
    this.#input = input
  }

  /** Whether a reported cost stands. */
  stands(claim: CostClaim): boolean {
    if (this.doubts(claim)) return false
    if (claim.ownProviderKey || claim.chargeMicros > this.#input.settings.aboveMicros) return false
    return !this.#isDrawn(claim.requestId)
  }

  /** Whether all reported costs of a unit are looked up. */
  doubts(unit: DoubtUnit): boolean {
    return this.#input.settings.lookups === 'all' || this.#input.doubts.covers(unit)
  }

  #isDrawn(requestId: string): boolean {
    // An HMAC takes four times as long, and adds nothing where all ids are of one length.
    const lot = hash('sha256', this.#input.drawSecret + requestId)
    // 2^48 is large enough that no lot is more likely than another by more than one in a trillion.
    return Number.parseInt(lot.slice(0, 12), 16) % DRAWN_ONE_OF === 0
  }
}

/** The secret of the store's draws, which is made once. */
export async function openDrawSecret(db: Kysely<Tables>): Promise<string> {
  const value = randomBytes(SECRET_BYTES).toString('hex')
  return await settingOnce(db, { name: 'lookup_draw_secret', value })
}
