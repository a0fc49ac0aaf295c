import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { counted, listed } from './table.ts'
import { createTerminal, showProgress, type Terminal } from './terminal.ts'

let written: string

beforeEach(() => {
  written = ''
})

function terminalOf(isTTY: boolean, columns?: number): Terminal {
  const stream = {
    isTTY,
    ...(columns === undefined ? {} : { columns }),
    write: (text: string) => {
      written += text
    },
  }
  return createTerminal({ results: stream, remarks: stream })
}

describe('progress', () => {
  test('takes one line, which the next result or remark replaces', () => {
    const terminal = terminalOf(true)
    terminal.progress('1 row')
    terminal.progress('2 rows')
    terminal.progress('2 rows')
    terminal.note('a remark')
    terminal.out('a result')
    expect(written).toBe('\r\x1b[K1 row\r\x1b[K2 rows\r\x1b[Ka remark\na result\n')
  })

  test('is not written to a pipe', () => {
    const terminal = terminalOf(false)
    terminal.progress('1 row')
    terminal.note('a remark')
    expect(written).toBe('a remark\n')
  })

  test('is shown at once, and then ten times a second at most', () => {
    let elapsedMs = 0
    const say = (rows: number) => counted(rows, 'row')
    const show = showProgress(terminalOf(true), say, () => elapsedMs)
    for (let rows = 1_000; rows <= 4_000; rows += 1_000) {
      show(rows)
      elapsedMs += 50
    }
    expect(written).toBe('\r\x1b[K1,000 rows\r\x1b[K3,000 rows')
  })
})

describe('a remark on a terminal', () => {
  const remark = 'tollgate: there is no store: go to its folder, or run `tollgate account create`.'

  test('is broken between words, and not within a command', () => {
    terminalOf(true, 30).note(remark)
    expect(written.split('\n')).toEqual([
      'tollgate: there is no store:',
      'go to its folder, or run',
      '`tollgate account create`.',
      '',
    ])
  })

  test.each([
    ['a command or a value, which is indented', '  npx tollgate key create acct_1 --name laptop'],
    ['the row of a table', 'acct_1  Ada Lovelace  2027-01-31T12:00:00Z'],
    ['JSON', '{"error":{"message":"there is no store","code":"command_failed"}}'],
  ])('is unchanged if it is %s', (_, line) => {
    terminalOf(true, 30).note(line)
    expect(written).toBe(`${line}\n`)
  })

  test('is unchanged where the terminal does not know its width, and says 0', () => {
    const terminal = terminalOf(true, 0)
    terminal.note(remark)
    expect([written, terminal.columnsMax]).toEqual([`${remark}\n`, null])
  })

  test('is one line in a pipe', () => {
    terminalOf(false, 30).note(remark)
    expect(written).toBe(`${remark}\n`)
  })
})

test('a name cannot reverse the text after it, because control characters are written as escapes', () => {
  const terminal = terminalOf(true)
  terminal.out('acct_1  Ann\u202e 000,1$ \u2066x')
  terminal.note(JSON.stringify({ name: 'Ann\u202e' }))
  const [line = '', json = ''] = written.split('\n')
  expect(line).toBe(String.raw`acct_1  Ann\u202e 000,1$ \u2066x`)
  expect(json).toBe(String.raw`{"name":"Ann\u202e"}`)
  expect(JSON.parse(json)).toEqual({ name: 'Ann\u202e' })
})

test.each([
  ['SIGINT', false, 'tollgate: stopped: half is gone\n'],
  ['SIGTERM', true, '{"error":{"message":"stopped: half is gone","code":"command_failed"}}\n'],
  ['SIGHUP', false, 'tollgate: stopped: half is gone\n'],
] as const)(
  '%s ends a command after it has cleaned up and said what is left, as JSON: %s',
  async (signal, isJson, said) => {
    const script = `
    const { explainSignals, processTerminal } = await import(${JSON.stringify(join(import.meta.dirname, 'terminal.ts'))})
    explainSignals(processTerminal, { isJson: ${isJson}, stopped: () => 'half is gone' })
    setInterval(() => {}, 1_000)
    process.stdout.write('ready')`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
    const [, [code, endedBy], notes] = await Promise.all([
      once(child.stdout, 'data').then(() => child.kill(signal)),
      once(child, 'exit'),
      text(child.stderr),
    ])
    expect([code, endedBy, notes]).toEqual([null, signal, said])
  },
)

test.each([
  [0, '0 entries'],
  [1, '1 entry'],
  [2, '2 entries'],
  [999, '999 entries'],
  [1_204, '1,204 entries'],
  [5_000_001, '5,000,001 entries'],
])('%d is counted as %s', (count, text) => {
  expect(counted(count, 'entry')).toBe(text)
  expect(
    listed([
      [1, 'apiKey'],
      [count, 'entry'],
    ]),
  ).toBe(`1 key, ${text}`)
})
