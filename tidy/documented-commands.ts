import { readMarkdown } from './markdown.ts'
import type { SourceFile } from './source-tree.ts'
import type { Violation } from './violation.ts'

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
 * Every command that a page tells a person to run is run by the build, is a script of package.json,
 * or is run by a named test; and what the build runs, CONTRIBUTING.md tells a person to run.
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

/** The npm commands of the build, without what it does with their failure. */
function buildCommands(text: string): Set<string> {
  const lines = text.split('\n').map((line) => line.replace(/\|\|.*$/, '').trim())
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
