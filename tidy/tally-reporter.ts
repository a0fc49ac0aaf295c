import type { Reporter, SerializedError, TestModule } from 'vitest/node'

const SLOW_FILES = 5

// The shown lines of an error: enough for the seed of a random test.
const ERROR_LINES = 3

/**
 * Names the five slowest files of each project and the failed tests, and ends a test run with one plain line,
 * `N passed, N failed`. A file that does not load, hooks that fail and errors outside of any test count as failed:
 * nothing that went wrong counts as nothing.
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
    const failed = unhandledErrors.map((error) => failure('outside of any test', [error]))
    for (const module of modules) {
      const path = module.relativeModuleId
      if (module.errors().length > 0) failed.push(failure(path, module.errors()))
      for (const suite of module.children.allSuites()) {
        const errors = suite.errors()
        if (errors.length > 0) failed.push(failure(`${path} > ${suite.fullName}`, errors))
      }
      for (const found of module.children.allTests()) {
        const { state, errors } = found.result()
        if (state === 'passed') passed += 1
        // A requested test that did not run to its end has not passed.
        else if (state !== 'skipped') failed.push(failure(`${path} > ${found.fullName}`, errors))
      }
    }
    const timed = modules.map((module) => ({
      project: module.project.name,
      path: module.relativeModuleId,
      tookMs: module.diagnostic().duration,
    }))
    const tally = `${passed} passed, ${failed.length} failed`
    for (const line of [...slowestFiles(timed), ...failed.flat(), tally]) this.#write(line)
  }
}

/** Something that failed, in lines for a person. */
function failure(
  name: string,
  errors: readonly Pick<SerializedError, 'message'>[] = [],
): readonly string[] {
  const lines = errors.flatMap(({ message }) => message.split('\n').slice(0, ERROR_LINES))
  return [`failed: ${name}`, ...lines.map((line) => `  ${line}`)]
}

/** The five slowest files of each project, slowest first, in lines for a person. */
export function slowestFiles(
  files: readonly { readonly project: string; readonly path: string; readonly tookMs: number }[],
): string[] {
  const byProject = Map.groupBy(files, ({ project }) => project)
  return [...byProject].flatMap(([project, ofProject]) => [
    `slowest of ${project === '' ? 'all files' : project}:`,
    ...ofProject
      .toSorted((one, other) => other.tookMs - one.tookMs)
      .slice(0, SLOW_FILES)
      .map(({ path, tookMs }) => `  ${(tookMs / 1_000).toFixed(1).padStart(6)} s  ${path}`),
  ])
}
