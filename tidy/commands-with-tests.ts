import type { CommandWithTest } from './documented-commands.ts'

/** Commands of README.md and CONTRIBUTING.md that a test runs because the build does not. */
export const COMMANDS_WITH_TESTS: readonly CommandWithTest[] = [
  {
    command: 'npx tollgate --help',
    testPath: 'bin/tollgate.test.ts',
    testName: 'npx tollgate finds the launcher of the checkout',
  },
]
