import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { type Adapter, readAdapter } from './adapter/adapter.ts'
import { textsIn, wordsOf } from './json.ts'
import { PRICES } from './provider/bill.ts'
import { PRICED, PROVIDER_KEY, startProvider, UNPRICED } from './provider/provider.ts'
import { lineOf, requestText, resultText, scoresPage, tallyOf } from './report.ts'
import { CHECKS, type Outcome, type Result, runChecks } from './run.ts'

// The package's folder: of the sources, or of what the compiler made of them.
const HERE = import.meta.dirname
const HOME = existsSync(join(HERE, 'package.json')) ? HERE : join(HERE, '..')
const ADAPTERS = join(HOME, 'adapters')

// The options, what each is given, and what it does.
const OPTIONS = {
  variant: { type: 'string', of: 'NAME', does: 'its settings; default: the variant named default' },
  only: { type: 'string', of: 'A,B', does: 'run these checks or groups alone' },
  rounds: { type: 'string', of: 'N', does: 'how often each check runs; default 3, with --quick 1' },
  quick: { type: 'boolean', does: 'fewer requests, without clock and cost' },
  busy: { type: 'boolean', does: 'run although the machine has other work' },
  binary: { type: 'string', of: 'PATH', does: "the gateway's program, if you have it already" },
  postgres: { type: 'string', of: 'URL', does: 'a PostgreSQL server, which gets a new database' },
  redis: { type: 'string', of: 'URL', does: 'a Redis server' },
  json: { type: 'string', of: 'FILE', does: 'write the result to this file' },
  announced: { type: 'boolean', does: 'exit with 0 if each failure has a footnote' },
  verbose: { type: 'boolean', does: "print each request, its bill and the gateway's row" },
  yes: { type: 'boolean', does: "run an adapter's commands without asking" },
  'my-own-server': { type: 'boolean', does: 'allow an address that is not this machine' },
  port: { type: 'string', of: 'N', does: 'the port of the played provider; default 9100' },
  help: { type: 'boolean', does: 'show this text' },
} as const

const HELP = `gateway-books: does this gateway keep its books?

  gateway-books run GATEWAY|FILE      start a gateway and run the checks
  gateway-books provider [--port N]   run the played provider alone
  gateway-books checks                list what is checked
  gateway-books scores FILE…          print the page of result files

${Object.entries(OPTIONS)
  .map(([name, more]) => `  ${`--${name} ${'of' in more ? more.of : ''}`.padEnd(18)} ${more.does}`)
  .join('\n')}`

/** Carries out a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  // At its end this process undoes what it did, which no second signal cuts short.
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => process.exit(128 + constants.signals[signal]))
  try {
    const options = { args: [...args], options: OPTIONS, allowPositionals: true } as const
    const { values, positionals } = parseArgs(options)
    const [command = '', ...named] = positionals
    if (values.help) return say(HELP)
    if (command === 'run' && named[0] !== undefined) return await run(named[0], values, args)
    if (command === 'provider') return await serveProvider(Number(values.port ?? 9_100))
    if (command === 'checks') return say(CHECKS.map(listText).join('\n'))
    if (command !== 'scores' || named.length === 0) return say(HELP, 2)
    const results = named.map((file): Result => JSON.parse(readFileSync(file, 'utf8')))
    return say(scoresPage(results, Date.now()).trimEnd())
  } catch (error) {
    if (error instanceof TypeError && 'code' in error) return say(`${error.message}\n\n${HELP}`, 2)
    return say(wordsOf(error), 3)
  }
}

const listText = ({ group, name, check }: (typeof CHECKS)[number]): string =>
  `${group.padEnd(9)} ${name.padEnd(18)} ${check.promise}`

type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']

async function run(name: string, values: Options, args: readonly string[]): Promise<number> {
  const built = join(ADAPTERS, `${name}.yaml`)
  const isBuiltIn = existsSync(built)
  const names = readdirSync(ADAPTERS).join(', ').replaceAll('.yaml', '')
  if (!isBuiltIn && !existsSync(name)) throw new Error(`no adapter ${name}. Built in: ${names}`)
  const file = isBuiltIn ? built : resolve(name)
  const { variant = 'default', quick = false, busy = false, binary, postgres, redis } = values
  const shownFile = relative(isBuiltIn ? HOME : process.cwd(), file)
  const adapter = { ...readAdapter(file, variant), file: shownFile }
  refuseFarAddress(adapter, values['my-own-server'] ?? false)
  if (!isBuiltIn && !values.yes && !(await isAgreed(adapter))) return say('nothing was started', 3)
  // Where the program lay on this machine tells a reader nothing.
  const shown = args.map((arg) => (arg === binary ? basename(arg) : arg))
  const result = await runChecks({
    ...{ adapter, variant, quick, busy, postgres, redis, tell },
    suite: JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')).version,
    command: `npx gateway-books ${shown.join(' ')}`,
    only: values.only?.split(',') ?? NAMES.filter((name) => !quick || !LONG.includes(name)),
    rounds: Number(values.rounds ?? (quick ? 1 : 3)),
    patienceMs: quick ? 30_000 : 60_000,
    binary: binary === undefined ? undefined : resolve(binary),
    trace: values.verbose ? (...request) => print(requestText(...request)) : undefined,
  })
  console.log(tallyOf(result))
  if (values.json !== undefined) writeFileSync(values.json, resultText(result))
  const counted = result.checks.filter(
    ({ check }) => !values.announced || result.footnotes[check] === undefined,
  )
  if (counted.some(({ verdict }) => verdict === 'fail')) return 1
  return counted.some(({ verdict }) => verdict === 'broken') ? 3 : 0
}

/** Prints a line in place of what a terminal shows of the present. */
function print(line: string, end = '\n'): void {
  const { stdout } = process
  stdout.write(`${stdout.isTTY ? '\r\u001b[K' : ''}${line}${end}`)
}

/** Prints a line for each check that ended, and on a terminal what runs now and the time left. */
function tell(told: Outcome | string, left = ''): void {
  if (typeof told !== 'string') print(lineOf(told, process.stdout.isTTY))
  else if (process.stdout.isTTY) print(`… ${told}${left}`, '')
}

const NAMES = CHECKS.map(({ name }) => name)
// The checks that a quick run of two minutes leaves out.
const LONG = ['clock', 'cost']

/** Load and faults are for a machine of one's own. */
function refuseFarAddress({ url, file }: Adapter, isOwn: boolean): void {
  if (url === undefined || isOwn) return
  if (['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)) return
  const words = 'is not this machine: checks are load and faults. If it is your own server, add'
  throw new Error(`${file} ${url} ${words} --my-own-server`)
}

async function isAgreed(adapter: Adapter): Promise<boolean> {
  const commands = [...adapter.install, ...textsIn(adapter, 'run')].map((line) => `  ${line}`)
  console.log(`${adapter.file} runs these commands as you:\n${commands.join('\n')}`)
  if (!process.stdin.isTTY) return say('Read them, and add --yes', 3) === 0
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const said = await terminal.question('Run them? [y/N] ')
  terminal.close()
  return said.trim().toLowerCase() === 'y'
}

async function serveProvider(at: number): Promise<number> {
  const { port } = await startProvider(at)
  const { input, cached, written, output } = PRICES
  console.log(`The provider serves on http://127.0.0.1:${port}/v1 (key: ${PROVIDER_KEY}), formats chat and messages.
Enter model ${PRICED} with window 128,000, longest answer 4,096, and dollars for a million tokens:
input ${input}, cache read ${cached}, cache write ${written}, output ${output}. Enter no price for ${UNPRICED}.
The bill: http://127.0.0.1:${port}/bill?prefix=`)
  return new Promise(() => {})
}

function say(text: string, code = 0): number {
  console[code === 0 ? 'log' : 'error'](text)
  return code
}
