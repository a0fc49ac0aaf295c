import { readMarkdown } from './markdown.ts'
import type { SourceFile, Violation } from './source-tree.ts'

/** A command that a page shows and that a test, not the build, runs. */
export interface CommandWithTest {
  /** As it stands in the page, without what differs from run to run. */
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
  const scripts = readScripts(texts.get('package.json') ?? '{}')
  const shown = PAGES.flatMap((path) => {
    const text = texts.get(path)
    return text === undefined ? [] : shownCommands(path, text)
  })
  const unheld = shown.flatMap(({ path, line, command }) => {
    const message = objection(command, { built, scripts, texts, commandsWithTests })
    return message === null ? [] : [{ path, line, message }]
  })
  const untold = [...built]
    .filter(
      (command) =>
        !shown.some((other) => other.path === 'CONTRIBUTING.md' && other.command === command),
    )
    .map((command) => ({
      path: BUILD,
      line: null,
      message: `runs "${command}", CONTRIBUTING.md does not say so`,
    }))
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
      const whole = lines
        .map((line) => line.text)
        .join('\n')
        .replace(/\\\n\s*/g, '')
      const firstLine = lines[0]?.line ?? 1
      return whole.split('\n').flatMap((content) =>
        content
          .replace(/(?:^|\s)#\s.*$/, '')
          .split('&&')
          .map((command) => command.trim())
          .filter((command) => command !== '')
          .map((command) => ({ path, line: firstLine, command })),
      )
    })
}

/** The npm commands of the build, without its own function `part` and what it does with their failure. */
function buildCommands(text: string): Set<string> {
  const lines = text.split('\n').map((line) =>
    line
      .replace(/^part /, '')
      .replace(/(\|\||&).*$/, '')
      .trim(),
  )
  return new Set(lines.filter((line) => /^np[mx] /.test(line)))
}

function readScripts(text: string): ReadonlySet<string> {
  const manifest: unknown = JSON.parse(text)
  if (typeof manifest !== 'object' || manifest === null || !('scripts' in manifest))
    return new Set()
  return new Set(Object.keys(manifest.scripts ?? {}))
}

interface Holders {
  readonly built: ReadonlySet<string>
  readonly scripts: ReadonlySet<string>
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
  if (!scripts.has(script)) return `"${command}": package.json has no script "${script}"`
  const missing = rest.split(' ').find((word) => word.includes('/') && !isThere(word, texts))
  return missing === undefined ? null : `"${command}": ${missing} is not there`
}

function isThere(path: string, texts: ReadonlyMap<string, string>): boolean {
  const place = path.replace(/\/$/, '')
  return texts.has(place) || [...texts.keys()].some((other) => other.startsWith(`${place}/`))
}

const README_SNIPPETS = [
  'export TOLLGATE_API_KEY=sk-tollgate-...',
  `curl -i http://127.0.0.1:8787/v1/chat/completions -H "authorization: Bearer $TOLLGATE_API_KEY" -d '{"model":"sim/text","messages":[{"role":"user","content":"Say hello."}]}'`,
]

const README_COMMANDS = [
  'npx tollgate request list',
  'npx tollgate audit',
  'npx tollgate account create "Ada Lovelace"',
  'npx tollgate credit grant acct_... 25 --reference invoice-1042',
  'npx tollgate key create acct_... --name laptop --limit 10',
]

const MOVING_COMMANDS = [
  'npx tollgate copy --to postgres://tollgate:password@127.0.0.1:5432/tollgate',
  'export DATABASE_URL=postgres://tollgate:password@127.0.0.1:5432/tollgate',
  'npx tollgate audit',
  'npx tollgate serve',
  'npx tollgate copy --to sqlite:./data/moved.db',
  'export DATABASE_URL=sqlite:./data/moved.db',
  'npx tollgate backup monday.db',
]

/** Commands of the pages that a test runs because the build does not. */
export const COMMANDS_WITH_TESTS: readonly CommandWithTest[] = [
  ...MOVING_COMMANDS.map((command) => ({
    command,
    testPath: 'test/moving-stores.test.ts',
    testName: 'the commands of docs/moving-stores.md move a store, there and back, and back it up',
  })),
  {
    command: 'npx tollgate --help',
    testPath: 'bin/tollgate.test.ts',
    testName: 'npx tollgate finds the launcher of the checkout',
  },
  ...README_SNIPPETS.map((command) => ({
    command,
    testPath: 'test/readme.test.ts',
    testName: 'the curl line of README answers, with its cost',
  })),
  ...README_COMMANDS.map((command) => ({
    command,
    testPath: 'test/readme.test.ts',
    testName:
      'the commands of README list requests, audit, and make an account that has credit and a key',
  })),
]
