import { expect, test } from 'vitest'
import { skippedSettings } from './env-file.ts'

const SETTINGS = ['PORT', 'UPSTREAM_API_KEY', 'TOLLGATE_FEE_BPS']

test('a line that begins with a setting and has no = is a fault, without the value, which may be secret', () => {
  const text =
    '# PORT 1\nPORT=8787\r\nUPSTREAM_API_KEY sk-secret\r\n\n  export PORT: 9\nTOLLGATE_FE 5\n'
  expect(skippedSettings(text, SETTINGS)).toBe(
    'the file .env cannot be used: line 3 has no =: write UPSTREAM_API_KEY=…; line 5 has no =: write PORT=…; line 6 has no =: write TOLLGATE_FE=…',
  )
})

test('lines of quoted values, words of other programs and lines with a = are no fault', () => {
  const text =
    'CERTIFICATE="begin\nPORT 1\nend"\nPORT = 1\nPORTS 1\nOTHER\nTOLLGATE_FEE_BPS=\nport 1\n'
  expect(skippedSettings(text, SETTINGS)).toBeNull()
})
