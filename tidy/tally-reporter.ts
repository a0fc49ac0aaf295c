import type { Reporter, SerializedError, TestModule } from 'vitest/node'

const SLOW_FILES = 5

/**
 * Names the five slowest files of each project, and ends a test run with one plain line, `N passed, N failed`. A file that does not load, hooks that
 * fail and errors outside of any test count as failed: nothing that went wrong counts as nothing.
 */
export class TallyReporter implements Reporter {
  readonly #write: (line: string) => void

  /** `write` gets the line without its end; default: standard output. */
  constructor(write: (line: string) => void = console.log) {
    this.#write = write
  }

  /** Called by Vitest once all is run. */
  onTestRunEnd(
    modules: readonly Pick<
      TestModule,
      'children' | 'diagnostic' | 'errors' | 'project' | 'relativeModuleId'
    >[],
    unhandledErrors: readonly SerializedError[],
  ): void {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const { state } of [...module.children.allTests()].map((found) => found.result())) {
        if (state === 'passed') passed += 1
        // What was asked for and did not run to its end has not passed.
        else if (state !== 'skipped') failed += 1
      }
    }
    const timed = modules.map((module) => ({
      project: module.project.name,
      path: module.relativeModuleId,
      tookMs: module.diagnostic().duration,
    }))
    for (const line of slowestFiles(timed)) this.#write(line)
    this.#write(`${passed} passed, ${failed} failed`)
  }
}

/** How long one file of tests took. */
interface TimedFile {
  readonly project: string
  readonly path: string
  readonly tookMs: number
}

/** The five slowest files of each project, slowest first, in lines for a person. */
export function slowestFiles(files: readonly TimedFile[]): string[] {
  const byProject = Map.groupBy(files, ({ project }) => project)
  return [...byProject].flatMap(([project, ofProject]) => [
    `slowest of ${project === '' ? 'all files' : project}:`,
    ...ofProject
      .toSorted((one, other) => other.tookMs - one.tookMs)
      .slice(0, SLOW_FILES)
      .map(({ path, tookMs }) => `  ${(tookMs / 1_000).toFixed(1).padStart(6)} s  ${path}`),
  ])
}
