import { expect } from 'vitest'
import type { Gateway } from '../../src/app/gateway.ts'
import { chatAt } from '../tollgate-process.ts'
import { CREDIT_MICROS, type CrashBench } from './crash-bench.ts'
import { type Left, postingsOf, type Step } from './steps.ts'

const HOLDS_A_KEY = 8
const NEXT_CHARGE_MICROS = 525

interface KillInput {
  readonly bench: CrashBench
  readonly step: Step
}

/**
 * Brings a request to a step, kills its gateway there, starts the next, and fails unless the request
 * becomes what the step says, the ledger is exact, and all places of its key are free.
 */
export async function killAndRecover({ bench, step }: KillInput): Promise<void> {
  const first = await bench.serve(await step.settings?.(bench))
  const letGo = await step.bring(bench, first)
  expect(await first.stop('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
  await letGo()
  await bench.bury()

  const { simulator } = bench
  simulator.gate('next look-ups').close()
  simulator.script({
    path: '/generation',
    hold: 'beforeHeaders',
    gate: 'next look-ups',
    times: 'always',
  })
  const second = await bench.serveHere()
  expect(await whatIsLeft(bench)).toEqual(step.left)
  await bench.audit()

  simulator.gate('next look-ups').release()
  if (step.inTheEnd.canBeLookedUp) await bench.until((rows) => rows[0]?.state === 'final')
  expect(await whatIsLeft(bench)).toEqual(step.inTheEnd)

  const chargedMicros = await allPlacesAreFree(bench, second)
  await second.close()
  await bench.audit()
  await ledgerSays({ bench, step }, chargedMicros)
}

async function whatIsLeft(bench: CrashBench): Promise<Left> {
  const rows = await bench.requests()
  expect(rows.length).toBeLessThanOrEqual(1)
  const [row] = rows
  return {
    state: row?.state ?? null,
    chargeMicros: row?.backedChargeMicros ?? 0,
    canBeLookedUp: typeof row?.generationId === 'string',
  }
}

/** Sends as many requests at once as the key may have in flight. Returns their cost. */
async function allPlacesAreFree(bench: CrashBench, gateway: Gateway): Promise<number> {
  const { simulator } = bench
  const gate = simulator.gate('next')
  simulator.script({
    hold: 'beforeHeaders',
    gate: 'next',
    times: HOLDS_A_KEY,
    costUsd: 0.0005,
    lookupCostUsd: 0.0005,
  })
  const answers = Array.from({ length: HOLDS_A_KEY }, () => chatAt(gateway, bench.apiKeys[0].text))
  await Promise.race([gate.arrived(HOLDS_A_KEY), Promise.all(answers)])
  expect(gate.arrivals).toBe(HOLDS_A_KEY)
  gate.release()
  let chargedMicros = 0
  for (const answer of await Promise.all(answers)) {
    expect(answer.status, await answer.text()).toBe(200)
    chargedMicros += Number(answer.headers.get('x-service-cost'))
  }
  expect(chargedMicros).toBe(HOLDS_A_KEY * NEXT_CHARGE_MICROS)
  return chargedMicros
}

/** The entries themselves, counted apart from the store's own audit. */
async function ledgerSays({ bench, step }: KillInput, chargedMicros: number): Promise<void> {
  const entries = await bench.entries()
  let balanceMicros = 0
  for (const { amountMicros } of entries) balanceMicros += amountMicros
  expect(balanceMicros).toBe(CREDIT_MICROS - step.inTheEnd.chargeMicros - chargedMicros)
  const rows = await bench.requests()
  const killed = rows.at(HOLDS_A_KEY)
  const posted = entries.filter(({ requestId }) => requestId === killed?.id && killed !== undefined)
  const amounts = posted.map(({ kind, amountMicros }) => `${kind} ${amountMicros}`)
  expect(amounts).toEqual(postingsOf(step))
}
