import { expect } from 'vitest'
import type { RequestState } from '../../src/vocabulary/outcome.ts'
import type { Answer, Bench } from './bench.ts'

/** The state that the end of a request must leave. */
export interface Charge {
  readonly state: RequestState
  readonly chargeMicros: number
  /** The part of the hold that is still held. */
  readonly held: 'nothing' | 'everything' | 'the rest'
}

/** Checks the charge and the other fields of a request's row in Activity. */
export async function expectCharge(
  bench: Bench,
  answer: Answer,
  expected: Charge & { readonly httpStatus: number; readonly errorCode: string | null },
): Promise<void> {
  const { state, chargeMicros, held, httpStatus, errorCode } = expected
  const row = await bench.activity(answer)
  const grantedMicros = row?.backedGrantedMicros ?? 0
  expect(grantedMicros).toBeGreaterThan(0)
  expect(row).toMatchObject({
    state,
    backedChargeMicros: chargeMicros,
    backedHeldMicros: heldMicros({ held, grantedMicros, chargeMicros }),
    httpStatus,
    errorCode,
  })
}

function heldMicros({
  held,
  grantedMicros,
  chargeMicros,
}: {
  readonly held: Charge['held']
  readonly grantedMicros: number
  readonly chargeMicros: number
}): number {
  switch (held) {
    case 'nothing':
      return 0
    case 'everything':
      return grantedMicros
    case 'the rest':
      return grantedMicros - chargeMicros
  }
}

/** Nothing was charged, and nothing is reserved. */
export const RELEASED: Charge = { state: 'released', chargeMicros: 0, held: 'nothing' }

/** Nothing is charged yet, and all credit of the hold stays held. */
export const UNRESOLVED: Charge = { state: 'unresolved', chargeMicros: 0, held: 'everything' }

/** An estimate that may be corrected later, for which the rest of the hold stays held. */
export function estimateOf(chargeMicros: number): Charge {
  return { state: 'provisional', chargeMicros, held: 'the rest' }
}

/** A charge by the provider's report; final if there is no ID to look it up by. */
export function reportedCharge(
  chargeMicros: number,
  { hasGenerations }: { readonly hasGenerations: boolean },
): Charge {
  return { state: hasGenerations ? 'provisional' : 'final', chargeMicros, held: 'nothing' }
}
