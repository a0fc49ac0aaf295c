import { BROKEN } from './broken.ts'
import { CHARGES } from './charges.ts'
import type { Check } from './lab.ts'
import { LIMITS } from './limits.ts'
import { SURVIVES } from './survives.ts'
import { TELLS } from './tells.ts'
import { WIRE } from './wire.ts'

/** All checks, by group, in the order in which they run. */
export const GROUPS: readonly (readonly [string, readonly Check[]])[] = [
  ['limits', LIMITS],
  ['charges', CHARGES],
  ['broken', BROKEN],
  ['survives', SURVIVES],
  ['tells', TELLS],
  ['wire', WIRE],
]
