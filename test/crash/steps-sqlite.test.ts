import { afterEach, describe, test } from 'vitest'
import { createMadeSqliteFile } from '../../src/store/testing/test-databases.ts'
import { type CrashBench, openCrashBench } from './crash-bench.ts'
import { killAndRecover } from './kill-and-recover.ts'
import { OUTSIDE_STEPS, STORE_STEPS } from './steps.ts'

let bench: CrashBench

afterEach(() => bench.close())

describe('kill -9 on SQLite', () => {
  for (const step of [...OUTSIDE_STEPS, ...STORE_STEPS]) {
    test(`${step.name}: no money is lost or invented, no place stays taken`, async () => {
      bench = await openCrashBench({ createDatabase: createMadeSqliteFile })
      await killAndRecover({ bench, step })
    })
  }
})
