import { Command } from 'commander'
import type { z } from 'zod'
import { testLetter } from '../mail/letter.ts'
import { MailRefused, MailServer } from '../mail/mail-server.ts'
import { auditShape, maintenanceShape } from '../operations/gateway/upkeep.ts'
import { auditedFigure, showMicros } from '../vocabulary/money.ts'
import type { CommandInput } from './command-context.ts'
import { addHelp } from './help-text.ts'
import { type CommandGroup, type OperationCommand, show } from './operation-command.ts'
import { counted, listed, moment, table } from './table.ts'
import { CommandFailure } from './terminal.ts'

type Audit = z.output<typeof auditShape>

/** `tollgate audit`: recomputes every balance, hold, charge and roll-up; exits 1 where one differs. */
export const AUDIT_COMMAND: OperationCommand = {
  name: 'audit',
  runs: 'audit',
  words: 'recompute every balance, hold, charge and roll-up from the entries and requests',
  takes: [],
  progress: (rows) => `audited ${counted(rows, 'row')}`,
  show: show(auditShape, (audit) =>
    audit.ok
      ? { out: `${found(audit)}${wentBack(audit)}` }
      : {
          out: `${differenceTable(audit.differences)}${wentBack(audit)}`,
          failure: counted(audit.differences.length, 'difference'),
        },
  ),
  help: `Exits 0 if every figure is exact, 1 if one differs by a micro-dollar. It only
reads, and a server can run meanwhile. docs/troubleshooting.md says what to do
about a difference.`,
  examples: ['tollgate audit'],
}

// The ledger of a copy that lacks the latest requests is exact too: the newest request shows that.
function found({ checked, newest_request }: Audit): string {
  if (checked.accounts === 0) {
    return 'empty store: it has no accounts. If it should have some, DATABASE_URL names another store or a bad copy'
  }
  const counts = listed([
    [checked.accounts, 'account'],
    [checked.keys, 'apiKey'],
    [checked.requests, 'request'],
    [checked.entries, 'entry'],
    [checked.codes, 'code'],
    [checked.purchases, 'purchase'],
  ])
  const newest =
    newest_request === null ? 'none' : `${newest_request.id}, ${moment(newest_request.opened_at)}`
  return `exact: ${counts}\nnewest request: ${newest}`
}

/** Lines about times at which the database went back. */
function wentBack({ went_back }: Audit): string {
  return went_back
    .map(
      ({ found_at, from, until, commits, requests, charge, commands, lost }) =>
        `\nthe database went back, found ${moment(found_at)}: ${counted(commits, 'commit')} of ${moment(from)} to ${moment(until)} ` +
        `${commits === 1 ? 'was' : 'were'} gone; ${counted(requests, 'request')} (${showMicros(charge)}) and ${counted(commands, 'command')} are booked again, ${lost} ${lost === 1 ? 'is' : 'are'} lost`,
    )
    .join('')
}

/** Figures that differ, as a person reads them. */
export function differenceTable(differences: readonly Audit['differences'][number][]): string {
  return table(
    ['FIGURE', 'ID', 'STORED', 'RECOMPUTED'],
    differences.map(({ what, id, stored, recomputed }) => {
      const { name, isMoney } = auditedFigure(what)
      return [name, id, figureText(stored, isMoney), figureText(recomputed, isMoney)]
    }),
  )
}

type Figure = Audit['differences'][number]['stored']

/** By position: the value, and whether it is micro-dollars. */
function figureText(value: Figure, isMoney: boolean): string {
  if (value === null) return '-'
  return isMoney && typeof value === 'number' ? showMicros(value) : String(value)
}

function stateText({ enabled }: { readonly enabled: boolean }): string {
  return enabled
    ? 'maintenance is on: inference requests are answered 503 until `tollgate maintenance off`'
    : 'maintenance is off: inference requests are accepted'
}

const STATE = show(maintenanceShape, (answer) => ({ out: stateText(answer) }))

const CHANGED = show(maintenanceShape, (answer) => ({
  out: stateText(answer),
  note: 'Running servers apply this within seconds (TOLLGATE_MAINTENANCE_POLL_MS).',
}))

/** `tollgate maintenance`: refuses inference for a while. */
export const MAINTENANCE_COMMANDS: CommandGroup = {
  name: 'maintenance',
  words: 'refuse new inference requests with 503, or accept them again',
  commands: [
    {
      name: 'on',
      runs: 'setMaintenance',
      words: 'refuse new inference requests with 503; requests in flight finish',
      takes: [],
      examples: ['tollgate maintenance on'],
      body: { enabled: true },
      show: CHANGED,
    },
    {
      name: 'off',
      runs: 'setMaintenance',
      words: 'accept inference requests again',
      takes: [],
      examples: ['tollgate maintenance off'],
      body: { enabled: false },
      show: CHANGED,
    },
    {
      name: 'show',
      runs: 'getMaintenance',
      words: 'show whether maintenance is on',
      takes: [],
      examples: ['tollgate maintenance show'],
      show: STATE,
    },
  ],
}

/** `tollgate mail`: whether the gateway can send email. */
export const MAIL_COMMANDS: CommandGroup = {
  name: 'mail',
  words: 'send a test email',
  commands: [{ make: mailTestCommand }],
}

function mailTestCommand({ settings, terminal }: CommandInput): Command {
  const command = new Command('test')
    .description("send a test email with the current settings, and print the mail server's answer")
    .argument('<address>', 'the email address to send it to')
    .option('--json', 'print JSON')
  return addHelp(command, {
    help: 'The settings are SMTP_URL and MAIL_FROM (docs/config.md).',
    examples: ['tollgate mail test ada@example.com'],
  }).action(async (to: string, { json }: { readonly json?: true }) => {
    const { mail, pageUrl } = settings()
    if (mail === null) {
      throw new CommandFailure('email is not set up: set SMTP_URL and MAIL_FROM (docs/config.md)')
    }
    const { host, port } = mail.server
    try {
      const answer = await new MailServer(mail).send(testLetter({ to, pageUrl }))
      terminal.out(
        json === true
          ? JSON.stringify({ object: 'mail_test', server: `${host}:${port}`, answer })
          : `${host}:${port} accepted the email: ${answer}`,
      )
    } catch (error) {
      if (!(error instanceof MailRefused)) throw error
      throw new CommandFailure(`${host}:${port}: ${error.message}`, { cause: error })
    }
  })
}
