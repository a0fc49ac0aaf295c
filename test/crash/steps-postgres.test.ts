import { afterEach, describe, test } from 'vitest'
import { createPostgresDatabase } from '../../src/store/testing/postgres.ts'
import { type CrashBench, openCrashBench } from './crash-bench.ts'
import { killAndRecover } from './kill-and-recover.ts'
import { COMMIT_STEPS, STORE_STEPS } from './steps.ts'

let bench: CrashBench

afterEach(() => bench.close())

describe('kill -9 on PostgreSQL', () => {
  for (const step of [...STORE_STEPS, ...COMMIT_STEPS]) {
    test(`${step.name}: no money is lost or invented, no place stays taken`, async () => {
      bench = await openCrashBench({ createDatabase: createPostgresDatabase })
      await killAndRecover({ bench, step })
    })
  }
})
