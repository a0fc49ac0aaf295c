import { FORMATS } from '../../formats/formats.ts'
import { bodyOf, callOf, LEAST_BODIES, offerWith } from '../../formats/testing/exchange.ts'
import { Problem } from '../../vocabulary/problem.ts'
import { anthropic } from '../anthropic/anthropic.ts'
import { openai } from '../openai/openai.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import type { Dialect } from '../upstream.ts'

/** The dialects that bill by counts, by name. */
export const COUNTED_DIALECTS = { openai, anthropic, 'openai-compatible': openaiCompatible }

const OFFER = offerWith({
  inputModalities: new Set(['text', 'image', 'file', 'video']),
  prices: { ...offerWith().prices, search: 1n },
})

interface Sent {
  readonly dialect: keyof typeof COUNTED_DIALECTS
  readonly format: string
  readonly fields: object
  readonly vouched?: readonly string[]
}

/** Checks the smallest body of a format with these fields added. Null: it is accepted. */
export function refusalOf({ dialect, format: name, fields, vouched = [] }: Sent): Problem | null {
  const of: Dialect = COUNTED_DIALECTS[dialect]
  const format = FORMATS.find(({ endpoint }) => endpoint === name)
  const wire = of.wires.get(name)
  if (format === undefined || wire === undefined) throw new TypeError(`${dialect} ${name}`)
  const source = { ...LEAST_BODIES[name], ...fields }
  try {
    const call = callOf(format, source)
    wire.refuse?.({ call, body: bodyOf(source), offer: OFFER, vouched: new Set(vouched) })
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}
