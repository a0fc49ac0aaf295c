import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'

/** The root of the checkout. */
export const ROOT = join(import.meta.dirname, '..', '..')

/** One instruction of a Dockerfile: `COPY`, and what follows it. */
export interface Instruction {
  readonly name: string
  readonly rest: string
}

/** The instructions of the Dockerfile, lines joined and comments gone. */
export function readImageRecipe(): readonly Instruction[] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, '')
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      if (name === '') throw new Error(`no instruction: ${line}`)
      return { name, rest: rest.trim() }
    })
}

/** The instructions of the image itself, without those of its build stage. */
export function lastStage(recipe: readonly Instruction[]): readonly Instruction[] {
  return recipe.slice(recipe.findLastIndex(({ name }) => name === 'FROM'))
}

/** A `COPY` of a Dockerfile. */
export interface Copied {
  /** The stage that it copies from; null: the checkout. */
  readonly stage: string | null
  readonly sources: readonly string[]
  readonly to: string
}

/** Reads a `COPY`. */
export function readCopy({ rest }: Instruction): Copied {
  const [, stage = null, places = ''] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(rest) ?? []
  const sources = places.split(/\s+/)
  return { stage, to: sources.pop() ?? '', sources }
}

/** The words of an instruction in its JSON form, such as those of `CMD`. */
export function readWords({ rest }: Instruction): readonly string[] {
  const words: unknown = JSON.parse(rest.slice(rest.indexOf('[')))
  if (!Array.isArray(words)) throw new Error(`not a list of words: ${rest}`)
  return words.map(String)
}

/** The files of the checkout that git does not ignore and that .dockerignore sends to a build. */
export function filesSent(): readonly string[] {
  const patterns = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: ROOT, encoding: 'utf8' },
  )
  return listed
    .split('\0')
    .filter((path) => path !== '' && isSent(path, patterns) && existsSync(join(ROOT, path)))
}

/** The last pattern that a path, or a folder that it is in, matches has the say. */
function isSent(path: string, patterns: readonly string[]): boolean {
  let sent = true
  for (const line of patterns) {
    const keeps = line.startsWith('!')
    const pattern = keeps ? line.slice(1) : line
    // Docker's star has dots in it, Node's has not.
    const isHere = pattern === '*' || matchesGlob(path, pattern)
    if (isHere || matchesGlob(path, `${pattern}/**`)) sent = keeps
  }
  return sent
}

/** Whether a path is one of the places, or is in one. */
export function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || path.startsWith(`${place}/`))
}
