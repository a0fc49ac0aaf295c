import { expect, test } from 'vitest'
import { envFileFault } from './env-file.ts'

const NAMES = ['PORT', 'UPSTREAM_API_KEY', 'TOLLGATE_FEE_BPS']

const faultOf = (text: string) => envFileFault(Buffer.from(text), NAMES)

test('a line that begins with a setting and has no = is a fault, without the value, which may be secret', () => {
  const text =
    '# PORT 1\nPORT=8787\r\nUPSTREAM_API_KEY sk-secret\r\n\n  export PORT: 9\nTOLLGATE_FE 5\n'
  expect(faultOf(text)).toBe(
    'the file .env cannot be used: line 3 has no =: write UPSTREAM_API_KEY=…; line 5 has no =: write PORT=…; line 6 has no =: write TOLLGATE_FE=…',
  )
})

test('lines of quoted values, words of other programs and lines with a = are no fault', () => {
  const text =
    'CERTIFICATE="begin\nPORT 1\nend"\nPORT = 1\nPORTS 1\nOTHER\nTOLLGATE_FEE_BPS=\nport 1\n'
  expect(faultOf(text)).toBeNull()
})

test.each([
  'UPSTREAM_API_KEY=sk-a#b',
  'export UPSTREAM_API_KEY = sk a#b # comment\r',
  'PORT=1\nUPSTREAM_API_KEY=a#b#c',
])('%j would lose what follows the #, which is a fault without the value', (text) => {
  expect(faultOf(text)).toMatch(
    /^the file \.env cannot be used: line \d has a # in the value of UPSTREAM_API_KEY, which begins a comment: put the value in quotes$/,
  )
})

test('a comment behind a value, a # in quotes and a value that is empty are no fault', () => {
  const text = `PORT=1 # one\nPORT=1 #one\nUPSTREAM_API_KEY="a#b"\nUPSTREAM_API_KEY='a#b'\nPORT=# none\nPORT= #none\nOTHER=a#b`
  expect(faultOf(text)).toBeNull()
})

test('a quote that is not closed is a fault', () => {
  expect(faultOf('PORT=1\nUPSTREAM_API_KEY="a')).toBe(
    'the file .env cannot be used: line 2 has a quote that is not closed: close it',
  )
})

test.each([
  'UPSTREAM_API_KEY="sk-a\nPORT="1"\n',
  'UPSTREAM_API_KEY="sk-a\n\n export TOLLGATE_FEE_BPS = \'b\'\nPORT="1"',
  'OTHER="a\nPORT=1\nLAST="b"',
  'UPSTREAM_API_KEY="sk-a\r\nOTHER="b"\r\n',
  "UPSTREAM_API_KEY='sk-a\n# it's a comment",
])('%j has a quote that only the next quote of the file would close, which is a fault', (text) => {
  expect(faultOf(text)).toBe(
    'the file .env cannot be used: line 1 has a quote that is not closed: close it',
  )
})

test.each([
  'UPSTREAM_API_KEY="a"b',
  'UPSTREAM_API_KEY="a\\"b#c"',
  'UPSTREAM_API_KEY="{\\"k\\":1}"\r\nPORT=1',
  "export UPSTREAM_API_KEY = 'it's'",
])('%j would lose what follows the closing quote, which is a fault without the value', (text) => {
  expect(faultOf(text)).toBe(
    'the file .env cannot be used: line 1 has text behind the closing quote of UPSTREAM_API_KEY, which would be lost: put the whole value in quotes that it does not contain',
  )
})

test('values in quotes with other quotes, lines or a comment behind them, and quotes in comments, are no fault', () => {
  const text = `UPSTREAM_API_KEY='{"k":1}'\r\nPORT="1"  # "one"\nTOLLGATE_X="a\nPORT b" # c\n# OTHER="a\nPORT="1"#one\nOTHER="a"b\nUPSTREAM_API_KEY=a"b\n`
  expect(faultOf(text)).toBeNull()
})

test('a file in UTF-16, of which Node reads nothing, is a fault', () => {
  const bytes = Buffer.from('\uFEFFPORT=1\r\n', 'utf16le')
  expect(envFileFault(bytes, NAMES)).toBe('the file .env cannot be used: save it as UTF-8 text')
})
