import { configDefaults, defineConfig } from 'vitest/config'
import { HANG_LIMITS } from './test/hang-limits.ts'
import { TallyReporter } from './tidy/tally-reporter.ts'

export default defineConfig({
  test: {
    include: [
      'bench/**/*.test.ts',
      'bin/**/*.test.ts',
      'src/**/*.test.ts',
      'simulator/**/*.test.ts',
      'test/**/*.test.ts',
      'tidy/**/*.test.ts',
    ],
    // They need packages that are not ours: npm run test:agents and npm run test:deploy.
    exclude: [...configDefaults.exclude, '**/*.agent.test.ts', '**/*.proxy.test.ts'],
    globalSetup: ['src/store/testing/one-server-a-run.ts'],
    reporters: ['default', new TallyReporter()],
    // Two cores: more workers than that measure only each other.
    maxWorkers: 2,
    ...HANG_LIMITS,
  },
})
