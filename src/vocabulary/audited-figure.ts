const MICROS = /_micros$/

/** A figure of the audit, `table.column`, as people read it: its name without the unit, and whether it is micro-dollars. */
export function auditedFigure(what: string): { readonly name: string; readonly isMoney: boolean } {
  return { name: what.replace(MICROS, ''), isMoney: MICROS.test(what) }
}
