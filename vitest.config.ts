import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { HANG_LIMITS } from './test/hang-limits.ts'
import { LOADED_BY_NODE } from './test/loaded-by-node.ts'
import { SlowFirst } from './tidy/slow-first.ts'
import { TallyReporter } from './tidy/tally-reporter.ts'

// As `bin/tollgate.js` does: threads and processes of tests begin in half the time.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/tests')

// They need programs that are not ours: npm run test:agents, test:deploy, test:page, test:patroni and test:servers.
const exclude = [
  ...configDefaults.exclude,
  '**/*.agent.test.ts',
  '**/*.proxy.test.ts',
  '**/*.page.test.ts',
  '**/*.patroni.test.ts',
  '**/*.prometheus.test.ts',
  '**/*.servers.test.ts',
]

// A worker loads the code once, and not again for each of its files: a fifth less work for tests that import all of it.
// The threads of its stores stay for the stores of its next tests.
const ALL_PROJECTS = {
  ...HANG_LIMITS,
  ...LOADED_BY_NODE,
  // A test that checks nothing fails.
  expect: { ...HANG_LIMITS.expect, requireAssertions: true },
  isolate: false,
  setupFiles: [join(import.meta.dirname, 'src/store/testing/keep-threads.ts')],
}

// `npm test -- --changed`, the run for one change: the tests beside the code that import it. Whole servers import all
// of the code, and are left to the whole run.
const isChangedOnly = process.argv.some((argument) => argument.startsWith('--changed'))
const folders = `{bench,bin,books,release,simulator,src,tidy,web${isChangedOnly ? '' : ',test'}}`

const CONTRACTS = [
  // The contract, once more: on a format that the product does not have.
  {
    test: {
      name: 'toy format',
      include: ['test/contract/**/*.test.ts'],
      provide: { contractOf: 'toy' as const },
      ...ALL_PROJECTS,
    },
  },
  // And on each dialect that bills by its counts, in the formats that it speaks.
  ...(['openai', 'anthropic', 'openai-compatible', 'toyDialect'] as const).map((contractOf) => ({
    test: {
      name: `contract of ${contractOf}`,
      include: ['test/contract/dialect-run.ts'],
      provide: { contractOf },
      ...ALL_PROJECTS,
    },
  })),
]

export default defineConfig({
  test: {
    reporters: ['default', new TallyReporter()],
    sequence: { sequencer: SlowFirst },
    // Two more than two cores: some tests wait for a deadline or a process, and the others fill the time.
    maxWorkers: 4,
    projects: [
      {
        test: {
          name: 'tollgate',
          include: [`${folders}/**/*.test.ts`],
          exclude,
          globalSetup: [
            'src/store/testing/one-server-a-run.ts',
            // Only tests of whole servers start these.
            ...(isChangedOnly ? [] : ['test/bundle-programs.ts']),
          ],
          ...ALL_PROJECTS,
        },
      },
      ...(isChangedOnly ? [] : CONTRACTS),
    ],
  },
})
