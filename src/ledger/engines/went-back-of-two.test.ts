import fc from 'fast-check'
import { test } from 'vitest'
import { startSeveringProxy } from '../../store/testing/severing-proxy.ts'
import { expectAcknowledged } from '../testing/acknowledged.ts'
import { connected } from '../testing/connected.ts'
import { randomScript, SETUP } from '../testing/random-script.ts'
import { RewoundBench } from '../testing/rewound-bench.ts'
import { runScript } from '../testing/script.ts'

/** The gateway that runs a line: each request stays with the one that opened it, as a client's connection does. */
function placeOf(line: string, salt: number): number {
  const [action = '', subject = ''] = line.trim().split(/\s+/)
  const namesRequest = ['open', 'settle', 'correct', 'stand', 'note'].includes(action)
  let sum = salt
  for (const char of namesRequest ? subject : line) sum = (sum * 31 + char.charCodeAt(0)) % 65_537
  return sum % 2
}

test('two gateways that change the same accounts lose no answered request or credit, and the ledger is exact, in either order of booking', async () => {
  await fc.assert(
    fc.asyncProperty(
      randomScript,
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      async (script, place, salt, isOtherFirst) => {
        const world = await RewoundBench.open()
        const way = await startSeveringProxy(world.url)
        const other = world.beside({ url: way.url, instanceId: 'J' })
        const benches = [world.bench, world.bench.with(other)]
        await world.run(SETUP)
        const run = async (lines: readonly string[]): Promise<string> => {
          const answers: string[] = []
          for (const line of lines) {
            const bench = benches[placeOf(line, salt)]
            if (bench !== undefined) answers.push(await runScript(bench, line))
          }
          return answers.join('\n')
        }
        const lines = script.split('\n')
        const at = place % (lines.length + 1)
        const before = await run(lines.slice(0, at))
        await world.keep(other)
        const after = await run(lines.slice(at))
        const [first, last] = isOtherFirst ? [other, world.ledger] : [world.ledger, other]
        const wayOfLast = isOtherFirst ? world.proxy : way
        wayOfLast.shut()
        await world.loseAll()
        await connected(first)
        wayOfLast.open()
        await connected(last)
        await expectAcknowledged(world.bench, `${before}\n${after}`)
        await other.close()
        await way.close()
        await world.close()
      },
    ),
    { numRuns: 10, endOnFailure: true },
  )
})
