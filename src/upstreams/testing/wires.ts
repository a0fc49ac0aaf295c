import type { Dialect } from '../upstream.ts'
import type { Wire } from '../wire.ts'

/** A dialect's wire of a format. Throws TypeError if it has none. */
export function wire(dialect: Dialect, format: string): Wire {
  const found = dialect.wires.get(format)
  if (found === undefined) throw new TypeError(format)
  return found
}
