import { broken } from './broken.ts'
import { charges } from './charges.ts'
import { limits } from './limits.ts'
import { survives } from './survives.ts'
import { tells } from './tells.ts'
import { wire } from './wire.ts'

/** All checks with their groups, in the order in which they run. */
export const CHECKS = Object.entries({ limits, charges, broken, survives, tells, wire }).flatMap(
  ([group, checks]) => Object.entries(checks).map(([name, check]) => ({ group, name, check })),
)
