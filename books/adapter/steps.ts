import { ask } from '../client.ts'
import { METHODS, type Reading, type Step } from './adapter.ts'
import { runCommand } from './processes.ts'
import { fill, type Values } from './template.ts'

/** In micro-dollars. */
export const DOLLAR = 1_000_000

const methodOf = (step: Step): (typeof METHODS)[number] =>
  METHODS.find((name) => step[name] !== undefined) ?? 'get'

/** Takes a step, and returns the text that it is answered. */
export async function takeStep(step: Step, values: Values): Promise<string> {
  const { run, body, headers, ...calls } = fill(step, values)
  const { url, bearer, dir = '.' } = values
  if (run !== undefined) return runCommand(run, dir)
  const method = methodOf(step)
  const authorization = bearer ? { authorization: `Bearer ${bearer}` } : {}
  const { httpStatus, broke, text } = await ask({
    url: `${url}${calls[method]}`,
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (httpStatus >= 200 && httpStatus < 300) return text
  throw new Error(`${labelOf(step)} answered ${broke ?? `${httpStatus}: ${text.slice(0, 300)}`}`)
}

/** A step, in words of an error. */
export function labelOf(step: Step): string {
  const method = methodOf(step)
  return step.run === undefined ? `${method.toUpperCase()} ${step[method]}` : `RUN ${step.run}`
}

/** A sum, as steps are given it. */
export function moneyIn(micros: number): Values {
  return { micros: String(micros), dollars: String(micros / DOLLAR) }
}

/** Sums, in micro-dollars; what is no sum is a fault of the adapter. */
export function microsIn(value: unknown, unit: Reading['unit'], where: string): number {
  if (Array.isArray(value))
    return value.reduce((sum: number, item) => sum + microsIn(item, unit, where), 0)
  const number = value === undefined ? Number.NaN : Number(value)
  if (Number.isNaN(number)) throw new Error(`no sum in ${where}`)
  const factor = { dollars: DOLLAR, micros: 1 }[unit ?? 'dollars'] ?? Number(unit)
  // A gateway of floating point owes the nearest thousandth; drift is what is above it.
  return Math.round(number * factor * 1_000) / 1_000
}
