import { Command, CommanderError } from 'commander'
import { ACCOUNT_COMMANDS } from './account.ts'
import { ACTION_COMMANDS } from './action.ts'
import { catalogCommand } from './catalog.ts'
import { backupCommand, copyCommand, retiredCommand } from './copy.ts'
import { CREDIT_COMMANDS } from './credit.ts'
import { type DoctorInput, doctorCommand } from './doctor/doctor.ts'
import { addHelp } from './help-text.ts'
import { KEY_COMMANDS } from './key.ts'
import { type CommandRow, operationCommand } from './operation-command.ts'
import { PURCHASE_COMMANDS } from './purchase.ts'
import { USAGE_COMMAND } from './reports.ts'
import { REQUEST_COMMANDS } from './request.ts'
import { SALE_COMMANDS } from './sale.ts'
import { TOKEN_COMMANDS } from './token.ts'
import { AUDIT_COMMAND, MAIL_COMMANDS, MAINTENANCE_COMMANDS } from './upkeep.ts'
import { upstreamCommand } from './upstream.ts'
import { USER_COMMANDS } from './user.ts'
import { WEBHOOK_COMMANDS } from './webhook.ts'

interface ProgramInput extends DoctorInput {
  /** The commands that run operations. */
  readonly commands: readonly CommandRow[]
  /** Runs the gateway until a signal stops it. */
  readonly serve: () => Promise<void>
}

/** The whole command line. */
export function tollgateProgram(input: ProgramInput): Command {
  const program = new Command('tollgate')
    .description('A self-hosted gateway to hosted models, with prepaid credit.')
    .version(input.version)
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => input.terminal.out(text.replace(/\n$/, '')),
      writeErr: (text) => input.terminal.note(text.replace(/\n$/, '')),
    })
    // By default, Commander wraps nothing in the help of a group that has one long command.
    .configureHelp({ minWidthToWrap: 30 })
    .helpCommand(false)
  addHelp(program, { help: CONVENTIONS, examples: FIRST_STEPS })
  for (const command of [
    serveCommand(input),
    doctorCommand(input),
    catalogCommand(input),
    upstreamCommand(input),
    ...input.commands.map((row) => operationCommand(input, row)),
    backupCommand(input),
    copyCommand(input),
    helpCommand(program),
  ]) {
    program.addCommand(command.helpGroup(headingOf(command.name())))
  }
  for (const name of ['export', 'import'])
    program.addCommand(retiredCommand(name), { hidden: true })
  explainUsage(program)
  for (const command of program.commands) inherit(command, program)
  return program
}

const HEADINGS = {
  'Accounts and credit:': ['account', 'credit', 'key', 'purchase', 'request', 'sale', 'usage'],
  'People and access:': ['action', 'token', 'user', 'webhook'],
}

/** The heading of a command in the help. */
function headingOf(command: string): string {
  const [heading = 'Gateway:'] =
    Object.entries(HEADINGS).find(([, commands]) => commands.includes(command)) ?? []
  return heading
}

function serveCommand({ serve }: ProgramInput): Command {
  const command = new Command('serve')
    .description('run the gateway until it is stopped')
    .action(() => serve())
  return addHelp(command, { help: SERVE_SETTINGS, examples: SERVE_EXAMPLES })
}

/** `tollgate help credit add`: as `tollgate credit add --help`. */
function helpCommand(program: Command): Command {
  return new Command('help')
    .description('show the help of a command')
    .argument('[command...]', 'the command; default: all commands')
    .action((words: readonly string[]) => {
      let command = program
      for (const word of words) {
        // Words behind a command that has no commands are its arguments.
        if (command.commands.length === 0) break
        const below = command.commands.find((each) => each.name() === word)
        if (below === undefined) return refuseUnknown(command, word)
        command = below
      }
      command.outputHelp()
    })
}

const CONVENTIONS = `Commands work on the store, with or without a server running. DATABASE_URL says
which store: by default ./data/tollgate.db, or ./data/simulator.db while no
upstream is configured. Settings are read from the environment and from .env
(docs/config.md).
In a checkout, type \`npx tollgate\` instead of \`tollgate\`.

For an account, API key, admin token, user, webhook or credit code, type its ID,
or another name that the help of the command lists: the name of an account, the
email address of a user. If several have that name, the command changes nothing
and lists them with their IDs.

On a terminal, lists cut long names to fit, leave out empty columns, and
continue a long row on an indented line. In a pipe, nothing is cut or left out,
and a row is a line.

--json prints the answer of the API, and an error as one line on standard error:
{"error":{"message":"…","code":"…"}}. Times are UTC.

Exit codes:
  0  success
  1  any other failure
  2  the command line is wrong
  3  no account, key, code, token, webhook, purchase, request, user or upstream
     has the ID or the name`

const FIRST_STEPS = [
  'tollgate serve',
  'tollgate account create Ada',
  'tollgate credit add Ada 25 --reference invoice-1042',
  'tollgate key create Ada --name laptop',
  'tollgate help credit add',
]

// The settings of a first hour; docs/config.md has all of them.
const SERVE_SETTINGS = `Settings are environment variables, or lines of a file named .env:
  PORT=8788                     the port; 8787 by default
  HOST=0.0.0.0                  the address; 127.0.0.1 by default
  UPSTREAM_DIALECT=openrouter   the provider: openrouter, openai or anthropic
  UPSTREAM_API_KEY=sk-or-...    the gateway's own key there
  TOLLGATE_UPSTREAMS=file.yaml  your own servers, other vendors, or several
                                providers (docs/upstreams.md)
  ADMIN_API_TOKEN=...           turns the admin API on; see /docs of the server
  DATABASE_URL=postgres://...   the store; a SQLite file in ./data by default
docs/config.md has all settings. Without a provider, the built-in simulator
answers. Ctrl-C waits for requests in flight; a second Ctrl-C does not.`

const SERVE_EXAMPLES = ['tollgate serve', 'PORT=8788 tollgate serve']

/** Copies the settings of the program to a command and everything below it. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  explainUsage(command)
  for (const below of command.commands) inherit(below, command)
}

/** Throws Commander's error for an unknown command, with the nearest names or all of them. */
function refuseUnknown(command: Command, word: string): void {
  command.parse([word], { from: 'user' })
}

/** Makes a command throw its usage error, with the right form to type: `runToExitCode` prints it. */
function explainUsage(command: Command): void {
  // Commander shows the help of a group for `--help` after a command that the group does not have.
  command.on('beforeHelp', () => {
    const word = command.args.find((each) => !each.startsWith('-'))
    const isKnown = command.commands.some((each) => each.name() === word)
    if (command.commands.length > 0 && word !== undefined && !isKnown) refuseUnknown(command, word)
  })
  command.exitOverride(({ exitCode, code, message }) => {
    const meant = meantBy(command, { code, message }) ?? rangeHint(command, message)
    // Commander finds names that look alike, such as `copy` for `code`.
    const text = meant === null ? message : message.replace(/\n\(Did you mean .*/s, '')
    const hint = meant ?? usageHint(command, { code, message })
    throw new CommanderError(exitCode, code, `${text}${hint}`)
  })
}

function usageHint(
  command: Command,
  { code, message }: Pick<CommanderError, 'code' | 'message'>,
): string {
  if (command.name() === 'serve') {
    const hint = 'settings are environment variables, or lines of .env, such as PORT=8788'
    return message.endsWith('.') ? ` S${hint.slice(1)}.` : `: ${hint}`
  }
  if (code === 'commander.excessArguments') {
    if (command.name() === 'audit') return ' `tollgate action list` shows the audit log.'
    return command.registeredArguments.length === 0 ? '' : ' Quote text that has spaces.'
  }
  if (code !== 'commander.unknownCommand') return ''
  return message.includes('Did you mean') ? '' : commandsHint(command)
}

/** The hint at the options of a range, which the page and the API call `from` and `to`; null: neither was typed. */
function rangeHint(command: Command, message: string): string | null {
  const hasRange = command.options.some(({ long }) => long === '--since')
  const isTyped = /unknown option '--(?:from|to)'/.test(message)
  return hasRange && isTyped ? ': a range is --since and --until' : null
}

/** The hint at the command that a word of other programs is meant for; null: it is none. Commander's message quotes the word. */
function meantBy(
  command: Command,
  { code, message }: Pick<CommanderError, 'code' | 'message'>,
): string | null {
  if (code !== 'commander.unknownCommand') return null
  const [, word = ''] = /'(.*?)'/.exec(message) ?? []
  const typed = command.parent === null ? word : `${command.name()} ${word}`
  const found = OTHER_NAMES.find(({ names }) => names.includes(typed))
  return found === undefined ? null : `: ${found.meant}`
}

function commandsHint(command: Command): string {
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((each) => each.name())
  return `: the commands are ${names.join(', ')}`
}

/** The commands that run operations, in the order of the help: a new one is a line here. */
export const COMMANDS: readonly CommandRow[] = [
  ACCOUNT_COMMANDS,
  CREDIT_COMMANDS,
  KEY_COMMANDS,
  REQUEST_COMMANDS,
  USAGE_COMMAND,
  PURCHASE_COMMANDS,
  SALE_COMMANDS,
  USER_COMMANDS,
  TOKEN_COMMANDS,
  WEBHOOK_COMMANDS,
  ACTION_COMMANDS,
  MAIL_COMMANDS,
  MAINTENANCE_COMMANDS,
  AUDIT_COMMAND,
]

/** Commands that other programs have, those of a group with its name, and what to use here. */
export const OTHER_NAMES: readonly {
  readonly names: readonly string[]
  readonly meant: string
}[] = [
  { names: ['start', 'run', 'server', 'up'], meant: '`tollgate serve` starts the gateway' },
  {
    names: ['model', 'models', 'price', 'prices', 'pricing'],
    meant: '`tollgate catalog list` shows the models and their prices',
  },
  {
    names: ['fee', 'fees', 'margin', 'markup'],
    meant:
      '`tollgate account update <account> --fee 12` sets the fee of an account, and TOLLGATE_FEE_BPS that of all others: 1200 is 12%',
  },
  {
    names: ['refund', 'chargeback'],
    meant:
      'a refund at the card provider removes the credit of the payment; `tollgate credit add <account> -5 --reference removal-1` removes other credit',
  },
  {
    names: ['account delete', 'account remove', 'account close'],
    meant:
      'the books need every account; `tollgate account suspend <account>` refuses all requests of one',
  },
  {
    names: ['credit remove', 'credit subtract'],
    meant: '`tollgate credit add <account> -5 --reference removal-1` removes credit',
  },
  {
    names: ['user delete', 'user disable', 'user suspend'],
    meant:
      '`tollgate user remove <email>` ends the access of a person, and `tollgate account suspend <account>` refuses the requests of an account',
  },
  {
    names: ['restore'],
    meant:
      'a backup is a whole store: stop the server, put a copy of the backup in the place of the store, and run `tollgate serve`',
  },
  {
    names: ['invite', 'member', 'members', 'operator', 'people'],
    meant: '`tollgate user --help` shows how to list and invite people',
  },
  {
    names: ['code', 'codes', 'voucher', 'coupon', 'redeem'],
    meant: '`tollgate credit --help` shows how to create and redeem credit codes',
  },
  {
    names: ['balance', 'customer', 'customers', 'team', 'teams'],
    meant: '`tollgate account list` shows the accounts with their credit',
  },
  {
    names: ['receipt', 'receipts', 'invoice', 'invoices', 'payment', 'payments'],
    meant: '`tollgate purchase list` shows the purchases; the page has their receipts',
  },
  {
    names: ['log', 'logs', 'history'],
    meant: '`tollgate request list` shows the requests, and `tollgate action list` the audit log',
  },
  {
    names: ['report', 'stats', 'spend', 'costs', 'cost'],
    meant: '`tollgate usage` shows requests, charges and margin',
  },
  { names: ['provider', 'providers'], meant: '`tollgate upstream list` shows the upstreams' },
  {
    names: ['status', 'health', 'check', 'config'],
    meant: '`tollgate doctor` checks the settings, the store and the upstreams',
  },
  { names: ['migrate'], meant: '`tollgate serve` migrates the store when it starts' },
]
