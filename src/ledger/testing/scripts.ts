import { describe, expect } from 'vitest'
import { BENCHES } from './benches.ts'
import { runScript } from './script.ts'

/** Runs a script in which each line's answer stands behind its arrow: the script is its own expectation. */
type Holds = (script: string) => Promise<void>

/** Describes scripts on every engine. Each is run on a store of its own, behind the same first lines, and audited. */
export function describeScripts(firstLines: readonly string[], define: (holds: Holds) => void) {
  describe.each(BENCHES)('on $engine', ({ open }) => {
    define(async (script) => {
      const bench = await open()
      try {
        await runScript(bench, firstLines.join('\n'))
        expect(await runScript(bench, script)).toBe(script)
        await bench.audit()
      } finally {
        await bench.close()
      }
    })
  })
}
