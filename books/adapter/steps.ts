import { ask } from '../client.ts'
import { isRecord, sumOf } from '../json.ts'
import { runCommand } from './processes.ts'

/** Values by name, for templates. */
export type Values = Readonly<Record<string, string>>

/** A place in a text that a value is put into. */
export const TEMPLATE = /\{([a-z_]+)\}/g

/**
 * Replaces the templates in the texts of a value, and in the replacements. A template without a value stays. A text that
 * is one template of a number becomes that number.
 */
export function fill<Value>(value: Value, values: Values): Value
export function fill(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const filled = value.replace(TEMPLATE, (whole, name) =>
      String(fill(values[name], values) ?? whole),
    )
    return /^\{(?:micros|dollars|factor|hours)\}$/.test(value) ? Number(filled) : filled
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, values))
  if (!isRecord(value)) return value
  const filled = Object.entries(value).map((entry) => entry.map((part) => fill(part, values)))
  return Object.fromEntries(filled)
}

export const ACTS = ['get', 'post', 'put', 'patch', 'delete', 'run'] as const

/** One HTTP call to the gateway, or one shell command; `keep` gives names to values of its JSON. */
export interface Step extends Partial<Readonly<Record<(typeof ACTS)[number], string>>> {
  /** Writes the files again with the values so far, and starts the gateway again. */
  readonly restart?: true
  readonly headers?: Values
  readonly body?: unknown
  readonly keep?: Values
}

/** In micro-dollars. */
const DOLLAR = 1_000_000

const actOf = (step: Step): (typeof ACTS)[number] =>
  ACTS.find((name) => step[name] !== undefined) ?? 'get'

/** Takes a step, and returns the text that it is answered. */
export async function takeStep(step: Step, values: Values): Promise<string> {
  const act = actOf(step)
  const { [act]: target = '', body, headers } = fill(step, values)
  const { url, bearer, dir = '.' } = values
  if (act === 'run') return runCommand(target, dir)
  const authorization = bearer ? { authorization: `Bearer ${bearer}` } : {}
  const { httpStatus, broke, text } = await ask({
    url: `${url}${target}`,
    method: act.toUpperCase(),
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (httpStatus >= 200 && httpStatus < 300) return text
  throw new Error(`${labelOf(step)} answered ${broke ?? `${httpStatus}: ${text.slice(0, 300)}`}`)
}

/** A step, in words of an error. */
export function labelOf(step: Step): string {
  const act = actOf(step)
  return `${act.toUpperCase()} ${step[act]}`
}

/** A sum, as steps are given it; where there is none, a dollar. */
export function moneyIn(micros = DOLLAR): Values {
  return { micros: String(micros), dollars: String(micros / DOLLAR) }
}

/** Sums, in micro-dollars; what is no sum is a fault of the adapter. */
export function microsIn(value: unknown, unit: string | number | undefined, where: string): number {
  if (Array.isArray(value)) return sumOf(value.map((item) => microsIn(item, unit, where)))
  const number = value === undefined ? Number.NaN : Number(value)
  if (Number.isNaN(number)) throw new Error(`no sum in ${where}`)
  const factor = { dollars: DOLLAR, micros: 1 }[unit ?? 'dollars'] ?? Number(unit)
  // A gateway of floating point owes the nearest thousandth; drift is what is above it.
  return Math.round(number * factor * 1_000) / 1_000
}
