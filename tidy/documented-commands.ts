import { readMarkdown } from './markdown.ts'
import type { SourceFile, Violation } from './source-tree.ts'

/** A command that a page shows and that a test, not the build, runs. */
export interface CommandWithTest {
  /** The output on the page, without the parts that differ from run to run. */
  readonly command: string
  readonly testPath: string
  /** Part of the test's name, as written in the file. */
  readonly testName: string
}

/** The pages whose `sh` blocks are promises. */
const PAGES = ['README.md', 'CONTRIBUTING.md', 'docs/moving-stores.md']
const BUILD = '.ci/run'

/**
 * Every command of a page is run by the build, is a script of package.json, or is run by a named test; and
 * CONTRIBUTING.md names every command that the build runs.
 */
export function checkDocumentedCommands(
  files: readonly SourceFile[],
  commandsWithTests: readonly CommandWithTest[],
): Violation[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const built = buildCommands(texts.get(BUILD) ?? '')
  const { scripts = {} }: { scripts?: object } = JSON.parse(texts.get('package.json') ?? '{}')
  const shown = PAGES.flatMap((path) => {
    const text = texts.get(path)
    return text === undefined ? [] : shownCommands(path, text)
  })
  const unheld = shown.flatMap(({ path, line, command }) => {
    const message = objection(command, { built, scripts, texts, commandsWithTests })
    return message === null ? [] : [{ path, line, message }]
  })
  const shownToDevelopers = shown.filter(({ path }) => path === 'CONTRIBUTING.md')
  const untold = [...built]
    .filter((command) => !shownToDevelopers.some((other) => other.command === command))
    .map((command) => `runs "${command}", CONTRIBUTING.md does not say so`)
    .map((message) => ({ path: BUILD, line: null, message }))
  return [...unheld, ...untold]
}

interface ShownCommand {
  readonly path: string
  readonly line: number
  readonly command: string
}

/** The commands of a page's `sh` blocks: comments gone, continued lines joined, `a && b` apart. */
function shownCommands(path: string, text: string): ShownCommand[] {
  return readMarkdown(text)
    .blocks.filter(({ language }) => language === 'sh')
    .flatMap(({ lines }) => {
      const whole = lines.map((line) => line.text).join('\n')
      const commands = whole
        .replace(/\\\n\s*/g, '')
        .replace(/(?:^|[ \t])#[ \t].*$/gm, '')
        .split(/\n|&&/)
      return commands
        .map((command) => ({ path, line: lines[0]?.line ?? 1, command: command.trim() }))
        .filter(({ command }) => command !== '')
    })
}

/** The npm commands of the build, without its own function `part` and its handling of their failure. */
function buildCommands(text: string): Set<string> {
  const lines = text.split('\n').map((line) =>
    line
      .replace(/^part /, '')
      .replace(/(\|\||&).*$/, '')
      .trim(),
  )
  return new Set(lines.filter((line) => /^np[mx] /.test(line)))
}

interface Holders {
  readonly built: ReadonlySet<string>
  /** By their names. */
  readonly scripts: object
  readonly texts: ReadonlyMap<string, string>
  readonly commandsWithTests: readonly CommandWithTest[]
}

function objection(command: string, holders: Holders): string | null {
  const { built, scripts, texts, commandsWithTests } = holders
  if (built.has(command)) return null
  const held = commandsWithTests.find((row) => row.command === command)
  if (held !== undefined) {
    if (texts.get(held.testPath)?.includes(held.testName)) return null
    return `"${command}" is held by no test: ${held.testPath} has no "${held.testName}"`
  }
  const [, short, long, rest = ''] =
    /^npm (?:(test|start)|run (\S+))(?: -- (.+))?$/.exec(command) ?? []
  const script = short ?? long
  if (script === undefined) return `nothing runs "${command}"`
  if (!Object.hasOwn(scripts, script)) return `"${command}": package.json has no script "${script}"`
  const missing = rest.split(' ').find((word) => word.includes('/') && !isThere(word, texts))
  return missing === undefined ? null : `"${command}": ${missing} is not there`
}

function isThere(path: string, texts: ReadonlyMap<string, string>): boolean {
  const place = path.replace(/\/$/, '')
  return texts.has(place) || [...texts.keys()].some((other) => other.startsWith(`${place}/`))
}

const LAUNCHER = [
  'bin/tollgate.test.ts',
  'npx tollgate finds the launcher of the checkout',
] as const
const MOVING = [
  'test/moving-stores.test.ts',
  'the commands of docs/moving-stores.md move a store, there and back',
] as const
const CURL = ['test/readme.test.ts', 'the curl line of README answers, with its cost'] as const
const README = [
  'test/readme.test.ts',
  'the commands of README list requests, audit, and create an account with credit and a key',
] as const

/** Commands of the pages that a test runs because the build does not. */
export const COMMANDS_WITH_TESTS: readonly CommandWithTest[] = (
  [
    [LAUNCHER, 'npx tollgate --help'],
    [MOVING, 'npx tollgate copy --to postgres://tollgate:password@127.0.0.1:5432/tollgate'],
    [MOVING, 'export DATABASE_URL=postgres://tollgate:password@127.0.0.1:5432/tollgate'],
    [MOVING, 'npx tollgate audit'],
    [MOVING, 'npx tollgate serve'],
    [MOVING, 'npx tollgate copy --to sqlite:./data/moved.db'],
    [MOVING, 'export DATABASE_URL=sqlite:./data/moved.db'],
    [MOVING, 'npx tollgate backup monday.db'],
    [CURL, 'export TOLLGATE_API_KEY=sk-tollgate-...'],
    [
      CURL,
      `curl -i http://127.0.0.1:8787/v1/chat/completions -H "authorization: Bearer $TOLLGATE_API_KEY" -d '{"model":"sim/text","messages":[{"role":"user","content":"Say hello."}]}'`,
    ],
    [README, 'npx tollgate request list'],
    [README, 'npx tollgate account create "Ada Lovelace"'],
    [README, 'npx tollgate credit add "Ada Lovelace" 25 --reference invoice-1042'],
    [README, 'npx tollgate key create "Ada Lovelace" --name laptop --limit 10'],
  ] as const
).map(([[testPath, testName], command]) => ({ command, testPath, testName }))
