import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { HANG_LIMITS } from './test/hang-limits.ts'
import { TallyReporter } from './tidy/tally-reporter.ts'

// As `bin/tollgate.js` does: threads and processes of tests begin in half the time.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/tests')

// They need programs that are not ours: npm run test:agents, test:deploy and test:page.
const exclude = [
  ...configDefaults.exclude,
  '**/*.agent.test.ts',
  '**/*.proxy.test.ts',
  '**/*.page.test.ts',
  '**/*.prometheus.test.ts',
]

const COSTS_NAMED = ['broken-streams', 'charge-states', 'dearer-providers', 'left-early'].map(
  (name) => `test/contract/${name}.test.ts`,
)

// A dialect sees none of these: they are tried on OpenRouter's, in every format.
const BEFORE_THE_DIALECT = ['keys-and-credit', 'limits', 'models', 'tags'].map(
  (name) => `test/contract/${name}.test.ts`,
)

export default defineConfig({
  test: {
    reporters: ['default', new TallyReporter()],
    // One more than two cores: some tests wait for a deadline or a process, and the others fill the time.
    maxWorkers: 3,
    projects: [
      {
        test: {
          name: 'tollgate',
          include: ['{bench,bin,src,simulator,test,tidy,web}/**/*.test.ts'],
          exclude,
          globalSetup: ['src/store/testing/one-server-a-run.ts'],
          ...HANG_LIMITS,
        },
      },
      {
        // The contract, once more: on a format that the product does not have.
        test: {
          name: 'toy format',
          include: ['test/contract/**/*.test.ts'],
          provide: { contractOf: 'toy' },
          ...HANG_LIMITS,
        },
      },
      // And on each dialect that bills by its counts, in the formats that it speaks.
      ...(['openai', 'anthropic', 'openai-compatible', 'toyDialect'] as const).map(
        (contractOf) => ({
          test: {
            name: `contract of ${contractOf}`,
            include: ['test/contract/**/*.test.ts'],
            // These are about costs that are named, and looked up: test/dialects/ has those that are counted.
            exclude: [
              ...COSTS_NAMED,
              ...BEFORE_THE_DIALECT,
              // OpenAI's error events have no status, and no room for counts.
              ...(contractOf === 'anthropic' ? [] : ['test/contract/failed-streams.test.ts']),
            ],
            provide: { contractOf },
            ...HANG_LIMITS,
          },
        }),
      ),
    ],
  },
})
