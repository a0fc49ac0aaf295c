import { BROKEN } from './broken.ts'
import { CHARGES } from './charges.ts'
import type { Checks } from './lab.ts'
import { LIMITS } from './limits.ts'
import { SURVIVES } from './survives.ts'
import { TELLS } from './tells.ts'
import { WIRE } from './wire.ts'

const GROUPS: Readonly<Record<string, Checks>> = {
  limits: LIMITS,
  charges: CHARGES,
  broken: BROKEN,
  survives: SURVIVES,
  tells: TELLS,
  wire: WIRE,
}

/** All checks with their groups, in the order in which they run. */
export const CHECKS = Object.entries(GROUPS).flatMap(([group, checks]) =>
  Object.entries(checks).map(([name, check]) => ({ group, name, check })),
)
