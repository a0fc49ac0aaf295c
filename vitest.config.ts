import { configDefaults, defineConfig } from 'vitest/config'
import { HANG_LIMITS } from './test/hang-limits.ts'
import { TallyReporter } from './tidy/tally-reporter.ts'

// They need programs that are not ours: npm run test:agents, test:deploy and test:page.
const exclude = [
  ...configDefaults.exclude,
  '**/*.agent.test.ts',
  '**/*.proxy.test.ts',
  '**/*.page.test.ts',
]

export default defineConfig({
  test: {
    reporters: ['default', new TallyReporter()],
    // Two cores: more workers than that measure only each other.
    maxWorkers: 2,
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
          provide: { contractFormats: 'toy' },
          ...HANG_LIMITS,
        },
      },
    ],
  },
})
