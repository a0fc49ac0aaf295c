import { CHECKS } from './checks/checks.ts'
import type { Outcome, Result } from './run.ts'

const COLOURS: Readonly<Record<string, number>> = { pass: 32, fail: 31, broken: 35, figure: 36 }

/** One line of the terminal for a check that ended. */
export function lineOf(
  { group, check, verdict, words, seconds }: Outcome,
  isColoured: boolean,
): string {
  const cell = verdict.padEnd(9)
  const colour = COLOURS[verdict]
  const shown = isColoured && colour !== undefined ? `\u001b[${colour}m${cell}\u001b[0m` : cell
  return `${group.padEnd(8)} ${shown} ${check.padEnd(17)} ${words.replaceAll('\n', ' ')}  ${seconds} s`
}

/** The last line: how many checks came to which verdict. */
export function tallyOf({ checks, seconds, busy }: Result): string {
  const counts = new Map<string, number>()
  for (const { verdict } of checks) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  const tally = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ')
  return `${tally} in ${seconds} s${busy ? ', on a busy machine' : ''}`
}

const DAY_MS = 86_400_000
const GREY_DAYS = 120
const MAKER = 'tollgate'

/** The page of scores, of result files. */
export function scoresPage(results: readonly Result[], now: number): string {
  const sorted = [...results].sort((one, other) => nameOf(one).localeCompare(nameOf(other)))
  const table = [
    `| check | ${sorted.map(nameOf).join(' | ')} |`,
    `|---|${sorted.map(() => '---').join('|')}|`,
    ...CHECKS.map(({ name }) => {
      const cells = sorted.map((result) => cellOf(result, name, now))
      return `| ${name} | ${cells.join(' | ')} |`
    }),
  ]
  return `# Scores

Made by the makers of ${MAKER}, which is one of the gateways below.

What the checks ask is in [README.md](README.md). There is no total and no rank. Cells come from the files in
\`results/\`; \`gateway-books scores\` writes this page. \`n/a\`: the gateway has no such thing, by its docs.
\`not tried\`: the adapter or the machine lacks what the check needs. \`broken\`: the suite or the adapter failed.

${table.join('\n')}

${sorted.map((result) => sectionOf(result, now)).join('\n\n')}
`
}

function nameOf({ gateway, variant }: Result): string {
  return `${gateway} ${variant}`
}

function isOld({ startedAt }: Result, now: number): boolean {
  return now - Date.parse(startedAt) > GREY_DAYS * DAY_MS
}

function cellOf(result: Result, name: string, now: number): string {
  const outcome = result.checks.find(({ check }) => check === name)
  if (outcome === undefined) return 'not run'
  const { verdict, rounds, words } = outcome
  const failed = rounds.filter((round) => round.verdict === 'fail').length
  const part = rounds.length > 1 ? ` ${failed}/${rounds.length}` : ''
  const share = /[\d.]+ ×/.exec(words)
  const cell = [
    verdict === 'fail' ? `**fail**${part}` : verdict,
    share !== null && ['pass', 'fail', 'figure'].includes(verdict) ? `, ${share[0]}` : '',
    verdict === 'fail' && result.footnotes[name] !== undefined ? ' *' : '',
  ].join('')
  return isOld(result, now) ? `<sub>${cell}</sub>` : cell
}

function sectionOf(result: Result, now: number): string {
  const { version, reported, machine, adapter, docs, checks, replies } = result
  const measured = [
    `Version ${version}${reported === null ? '' : ` (it says ${reported})`}`,
    `suite ${result.suite}, ${result.startedAt.slice(0, 10)}, ${machine}`,
  ]
  const warnings = [
    result.busy ? ' **The machine had other work**.' : '',
    result.quick ? ' A quick run.' : '',
    isOld(result, now) ? ' Older than 120 days.' : '',
  ]
  const unsent = 'Not yet sent to its makers: README says how they can answer.'
  const listed = checks.filter(({ verdict }) => ['fail', 'figure', 'broken'].includes(verdict))
  return [
    `## ${nameOf(result)}`,
    `${measured.join(', ')}.${warnings.join('')}`,
    `Settings: ${docs}.`,
    `Command: \`${result.command}\`. Adapter: ${adapter}, SHA-256 ${result.adapterHash.slice(0, 16)}.`,
    result.gateway === MAKER ? 'This is our own.' : (replies ?? unsent),
    ...Object.entries(result.policy).map(
      ([rule, { charge, docs: page }]) => `Its rule for ${rule}: ${charge} is charged (${page}).`,
    ),
    ...listed
      .filter(({ check, verdict }) => verdict === 'fail' && result.footnotes[check] !== undefined)
      .map(({ check }) => `\\* ${check}: ${result.footnotes[check]}`),
    listed
      .map(({ check, verdict, words }) => `- ${check}, ${verdict}: ${oneLine(words)}`)
      .join('\n'),
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

function oneLine(words: string): string {
  return words.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').slice(0, 400)
}
