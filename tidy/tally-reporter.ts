import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/**
 * Ends a test run with one plain line, `N passed, N failed`. A file that does not load, hooks that
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
    modules: readonly Pick<TestModule, 'children' | 'errors'>[],
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
    this.#write(`${passed} passed, ${failed} failed`)
  }
}
