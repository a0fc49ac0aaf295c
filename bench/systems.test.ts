import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lookUpSettings } from './systems.ts'

test('a gateway of an earlier checkout gets no setting that it does not know', () => {
  const present = join(import.meta.dirname, '..')
  expect(lookUpSettings(present, true)).toEqual({
    TOLLGATE_STANDS_AFTER_MS: '1000',
    TOLLGATE_LOOKUPS: 'all',
  })
  expect(lookUpSettings(present, false)).toEqual({ TOLLGATE_STANDS_AFTER_MS: '1000' })
  const earlier = mkdtempSync(join(tmpdir(), 'tollgate-earlier-'))
  mkdirSync(join(earlier, 'docs'))
  writeFileSync(join(earlier, 'docs', 'config.md'), '| `TOLLGATE_LOOKUPS_IN_FLIGHT` | `8` | |\n')
  expect(lookUpSettings(earlier, true)).toEqual({})
  rmSync(earlier, { recursive: true })
})
