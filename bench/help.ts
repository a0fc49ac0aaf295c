import type { Scenario } from './bench.ts'

const WHEN = { always: '', unlessQuick: ' (not with --quick)', whenNamed: ' (only when named)' }

/** The output of `npm run bench -- --help`. */
export function helpText(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length))
  const listed = scenarios.map(
    ({ name, summary, runs }) => `  ${name.padEnd(width)}  ${summary}${WHEN[runs]}`,
  )
  return `npm run bench -- [scenario …] [flags]

Measures tollgate against a bare proxy on this machine, prints a table and writes a JSON result.
Without a scenario, all run but those marked. Ends with 1 where anything failed: a request, a stream
that is not whole, a ledger that is not exact, a hold that is left; and, but for --quick, where hostile misses
one of its budgets, or page one of its times.

${listed.join('\n')}

  --quick                 one round of few requests, for errors and not for speed
  --full                  growth up to 100,000 accounts and 5,000,000 requests: minutes to make
  --rounds <n>            rounds of each target, 7 where not given
  --cores <n>             how many cores the gateway and the bare proxy have, 1 where not given; load, provider and
                          database have the others. As many as the machine has, or --quick without it: nothing is
                          pinned
  --store-folder <path>   where stores are made: on the disk to measure; data/ where not given
  --result <file>         where the JSON goes; bench/results/<time>.json where not given
  --profile               the gateway writes CPU profiles into bench/results/profiles/
  --checkout <path>       starts the gateway from another checkout, also of an earlier commit, with its modules
  --setting <NAME=value>  a setting of the gateway; may be given again
  --peer <name,address,process id[,authorization]>
                          a gateway that runs already, for peers; may be given again. It serves the model
                          sim/unknown-window from a provider such as npm run simulator`
}
