import type { Row } from './adapter/gateway.ts'
import type { Sent } from './checks/sent.ts'
import { money } from './checks/verdict.ts'
import { type Line, microsOf } from './provider/bill.ts'
import { CHECKS, isJudged, type Outcome, type Result } from './run.ts'

const COLOURS: Readonly<Record<string, number>> = { pass: 32, fail: 31, broken: 35, figure: 36 }

/** One line of the terminal for a check that ended. */
export function lineOf(outcome: Outcome, isColoured: boolean): string {
  const { group, check, verdict, words, seconds } = outcome
  const cell = verdict.padEnd(9)
  const shown = isColoured ? `\u001b[${COLOURS[verdict] ?? 0}m${cell}\u001b[0m` : cell
  return `${group.padEnd(8)} ${shown} ${check.padEnd(17)} ${words.replaceAll('\n', ' ')}  ${seconds} s`
}

/** A request: how it was answered, its lines of the bill, and the gateway's row. */
export function requestText({ id, answer }: Sent, bill: readonly Line[], row?: Row): string {
  const { httpStatus, left, broke, tookMs } = answer
  const end = left ? 'the client left' : (broke ?? 'whole')
  const lines = bill.map((line) => {
    const tokens = `${line.script.in} tokens in, ${line.out} out`
    return `bill, arrival ${line.arrival}: ${line.end}, ${tokens}: ${money(microsOf(line))}`
  })
  if (row !== undefined) lines.push(`row ${row.id}: ${money(row.micros)}`)
  else if (bill.length > 0) lines.push('no row that its answer names')
  return [`  ${id}: ${httpStatus}, ${end}, ${Math.round(tookMs)} ms`, ...lines].join('\n    ')
}

/** The last line: how many checks came to which verdict. */
export function tallyOf({ checks, seconds, busy }: Result): string {
  const groups = Object.entries(Object.groupBy(checks, ({ verdict }) => verdict))
  const tally = groups.map(([verdict, { length }]) => `${length} ${verdict}`).join(', ')
  return `${tally} in ${seconds} s${busy ? ', on a busy machine' : ''}`
}

const GREY_MS = 120 * 86_400_000
const MAKER = 'tollgate'

/** The page of scores, of result files. */
export function scoresPage(results: readonly Result[], now: number): string {
  const sorted = [...results].sort((one, other) => nameOf(one).localeCompare(nameOf(other)))
  const row = (name: string, cell: (result: Result) => string): string =>
    `| ${[name, ...sorted.map(cell)].join(' | ')} |`
  const rows = CHECKS.map(({ name }) => row(name, (result) => cellOf(result, name, now)))
  const table = [row('check', nameOf), row('---', () => '---'), ...rows]
  return `# Scores

Made by the makers of ${MAKER}, which is one of the gateways below.

\`gateway-books checks\` lists the checks, and [README.md](README.md) explains the verdicts. There is no total and no rank. Cells come from
the files in \`results/\`; \`gateway-books scores\` writes this page. \`n/a\`: the gateway has no such thing, by its docs.
\`not tried\`: the adapter or the machine lacks what the check needs. \`broken\`: the suite or the adapter failed.

${table.join('\n')}

${sorted.map((result) => sectionOf(result, now)).join('\n\n')}
`
}

const nameOf = ({ gateway, variant }: Result): string => `${gateway} ${variant}`

const isOld = ({ startedAt }: Result, now: number): boolean => now - Date.parse(startedAt) > GREY_MS

function cellOf(result: Result, name: string, now: number): string {
  if (result.disputed?.includes(name)) return 'disputed'
  const outcome = result.checks.find(({ check }) => check === name)
  if (outcome === undefined) return 'not run'
  const { verdict, words } = outcome
  const [part = ''] = / \d+\/\d+$/.exec(words) ?? []
  const rule = words.startsWith('by its rule') ? ' by its rule' : ''
  const [share] = /[\d.]+ ×/.exec(words) ?? []
  const told = share !== undefined && isJudged(outcome) ? `, ${share}` : ''
  const mark = verdict === 'fail' && result.footnotes[name] !== undefined ? ' *' : ''
  const cell = `${verdict === 'fail' ? `**fail**${part}` : verdict}${rule}${told}${mark}`
  return isOld(result, now) ? `<sub>${cell}</sub>` : cell
}

function sectionOf(result: Result, now: number): string {
  const { version, reported, machine, adapter, docs, checks, replies } = result
  const said = reported === null ? '' : ` (it says ${reported})`
  const measured = `suite ${result.suite}, ${result.startedAt.slice(0, 10)}, ${machine}`
  const warnings = [
    result.busy ? ' **The machine had other work**.' : '',
    result.quick ? ' A quick run.' : '',
    isOld(result, now) ? ' Older than 120 days.' : '',
  ]
  const unsent = 'Not yet sent to its makers: README says how they can answer.'
  const listed = checks.filter(({ verdict }) => ['fail', 'figure', 'broken'].includes(verdict))
  return [
    `## ${nameOf(result)}`,
    `Version ${version}${said}, ${measured}.${warnings.join('')}`,
    `Settings: ${docs}.`,
    `Command: \`${result.command}\`. Adapter: ${adapter}, SHA-256 ${result.adapterHash.slice(0, 16)}.`,
    result.gateway === MAKER ? 'This is our own.' : (replies ?? unsent),
    ...Object.entries(result.policy).map(
      ([rule, { charge, docs: page }]) => `Its rule for ${rule}: ${charge} is charged (${page}).`,
    ),
    ...listed
      .filter(({ check, verdict }) => verdict === 'fail' && result.footnotes[check] !== undefined)
      .map(({ check }) => `\\* ${check}: ${result.footnotes[check]}`),
    listed.map((each) => `- ${each.check}, ${each.verdict}: ${oneLine(each.words)}`).join('\n'),
  ]
    .filter((text) => text !== '')
    .join('\n\n')
}

const oneLine = (words: string): string =>
  words.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').slice(0, 400)

/** A result as its file has it: each request on a line, so that a thousand of them can be read and compared. */
export function resultText(result: object): string {
  const text = JSON.stringify(result, null, 1)
  // Line ends within texts are escaped, so that those between members are the only ones.
  const inLine = (_: string, members: string) => `{ ${members.replaceAll(/\n\s+/g, ' ')} }`
  return `${text.replaceAll(/\{\n\s+("id": [^{}[\]]*?)\n\s+\}/g, inLine)}\n`
}
