import { describe, expect } from 'vitest'
import { BENCHES } from './benches.ts'
import { runScript } from './script.ts'

/** Runs a script in which each line's answer follows its arrow: the script is its own expectation. */
type Holds = (script: string) => Promise<void>

/** Describes scripts on every engine. Each runs on a separate store, after the same first lines, and is audited. */
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
