import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { type Adapter, AdapterError, readAdapter } from './adapter/adapter.ts'
import { GROUPS } from './checks/checks.ts'
import { PRICES } from './provider/bill.ts'
import { MODELS, PROVIDER_KEY, startProvider } from './provider/provider.ts'
import { lineOf, scoresPage, tallyOf } from './report.ts'
import { type Result, runChecks } from './run.ts'

// The package's folder: of the sources, or of what the compiler made of them.
const HOME = existsSync(join(import.meta.dirname, 'package.json'))
  ? import.meta.dirname
  : join(import.meta.dirname, '..')
const ADAPTERS = join(HOME, 'adapters')

const HELP = `gateway-books: does this gateway keep its books?

  gateway-books run GATEWAY|FILE   start a gateway and run the checks
      --variant NAME     its settings; default: the first of the adapter
      --only A,B         checks or groups
      --rounds N         default 3; --quick: 1
      --quick            fewer requests, without clock and cost
      --busy             also on a machine with other work
      --binary PATH      the gateway's program, where you have it already
      --postgres URL     a server for a new database; --redis URL
      --json FILE        write a result file
      --announced        exit with 0 where each failure has a footnote of the docs
      --verbose          print each request and its bill
      --yes              take an adapter's commands without a question
      --my-own-server    also an address that is not this machine's
  gateway-books provider [--port N]   the played provider alone
  gateway-books checks                what is checked
  gateway-books scores FILE…          print the page of result files
`

const OPTIONS = {
  variant: { type: 'string' },
  only: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  busy: { type: 'boolean' },
  binary: { type: 'string' },
  postgres: { type: 'string' },
  redis: { type: 'string' },
  json: { type: 'string' },
  announced: { type: 'boolean' },
  verbose: { type: 'boolean' },
  yes: { type: 'boolean' },
  'my-own-server': { type: 'boolean' },
  port: { type: 'string' },
  help: { type: 'boolean' },
} as const

/** Carries out a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.once('SIGINT', () => process.exit(130))
  process.once('SIGTERM', () => process.exit(143))
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: OPTIONS,
      allowPositionals: true,
    })
    const [command, ...named] = positionals
    if (values.help || command === undefined) return say(HELP, command === undefined ? 2 : 0)
    if (command === 'run' && named[0] !== undefined)
      return await runCommandLine(named[0], values, args)
    if (command === 'provider') return await serveProvider(Number(values.port ?? 9_100))
    if (command === 'checks') return say(listOfChecks(), 0)
    if (command === 'scores' && named.length > 0) {
      const results = named.map((file): Result => JSON.parse(readFileSync(file, 'utf8')))
      return say(scoresPage(results, Date.now()).trimEnd(), 0)
    }
    console.error(HELP)
    return 2
  } catch (error) {
    if (error instanceof TypeError && 'code' in error)
      return complain(`${error.message}\n\n${HELP}`, 2)
    return complain(error instanceof Error ? error.message : String(error), 3)
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']

async function runCommandLine(
  name: string,
  values: Values,
  args: readonly string[],
): Promise<number> {
  const built = join(ADAPTERS, `${name}.yaml`)
  const isBuiltIn = existsSync(built)
  if (!isBuiltIn && !existsSync(name))
    throw new AdapterError(`no adapter ${name}. Built in: ${builtIn().join(', ')}`)
  const file = isBuiltIn ? built : resolve(name)
  const variant = values.variant ?? 'default'
  const adapter = {
    ...readAdapter(file, variant),
    file: relative(isBuiltIn ? HOME : process.cwd(), file),
  }
  refuseFarAddress(adapter, values['my-own-server'] ?? false)
  if (!isBuiltIn && !values.yes && !(await isAgreed(adapter)))
    return complain('nothing was started', 3)
  const quick = values.quick ?? false
  const isTerminal = process.stdout.isTTY === true
  const result = await runChecks({
    adapter,
    variant,
    suite: versionOf(),
    // Where the program lay on this machine tells a reader nothing.
    command: `npx gateway-books ${args.map((arg) => (arg === values.binary ? basename(arg) : arg)).join(' ')}`,
    only: values.only?.split(',') ?? (quick ? QUICK : []),
    rounds: Number(values.rounds ?? (quick ? 1 : 3)),
    quick,
    busy: values.busy ?? false,
    binary: values.binary === undefined ? null : resolve(values.binary),
    urls: { postgres: values.postgres ?? null, redis: values.redis ?? null },
    tell(told) {
      if (typeof told === 'string') {
        if (isTerminal) process.stdout.write(`\r\u001b[K… ${told}`)
        return
      }
      if (isTerminal) process.stdout.write('\r\u001b[K')
      console.log(lineOf(told, isTerminal))
      if (values.verbose)
        for (const { requests } of told.rounds)
          for (const { id, status, billed } of requests)
            console.log(`         ${id}: ${status}, billed ${billed}`)
    },
  })
  console.log(tallyOf(result))
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`)
  const counts = (verdict: string): number =>
    result.checks.filter(
      ({ check, verdict: found }) =>
        found === verdict && !(values.announced && result.footnotes[check]),
    ).length
  return counts('fail') > 0 ? 1 : counts('broken') > 0 ? 3 : 0
}

// Two minutes: all but what takes longest.
const QUICK = GROUPS.flatMap(([, checks]) => checks.map(({ name }) => name)).filter(
  (name) => !['clock', 'cost'].includes(name),
)

/** Load and faults are for a machine of one's own. */
function refuseFarAddress({ url, file }: Adapter, isOwn: boolean): void {
  if (url === undefined || isOwn) return
  const { hostname } = new URL(url)
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    throw new AdapterError(
      `${file} ${url} is not this machine: checks are load and faults. If it is your own server, add --my-own-server`,
    )
}

async function isAgreed({ install, start, file }: Adapter): Promise<boolean> {
  console.log(
    `${file} runs these commands as you:\n${[...install, start?.run ?? ''].map((line) => `  ${line}`).join('\n')}`,
  )
  if (!process.stdin.isTTY) return complain('Read them, and add --yes', 3) === 0
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const said = await terminal.question('Run them? [y/N] ')
  terminal.close()
  return said.trim().toLowerCase() === 'y'
}

async function serveProvider(port: number): Promise<number> {
  const provider = await startProvider(port)
  const { input, cached, written, output } = PRICES
  console.log(`The provider serves on http://127.0.0.1:${provider.port}/v1 (key: ${PROVIDER_KEY}), formats chat and messages.
Enter model ${MODELS[0]} with window 128,000, longest answer 4,096, and dollars for a million tokens:
input ${input}, cache read ${cached}, cache write ${written}, output ${output}. Enter no price for ${MODELS[1]}.
The bill: http://127.0.0.1:${provider.port}/bill?prefix=`)
  return new Promise(() => {})
}

function listOfChecks(): string {
  return GROUPS.flatMap(([group, checks]) =>
    checks.map(({ name, promise }) => `${group.padEnd(9)} ${name.padEnd(18)} ${promise}`),
  ).join('\n')
}

function builtIn(): string[] {
  return readdirSync(ADAPTERS).map((name) => name.replace('.yaml', ''))
}

function versionOf(): string {
  return JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')).version
}

function say(text: string, code: number): number {
  console.log(text)
  return code
}

function complain(text: string, code: number): number {
  console.error(text)
  return code
}
