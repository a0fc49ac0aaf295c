import { expect, test } from 'vitest'
import { fittingTable, sentenceTable, table } from './table.ts'
import { createTerminal } from './terminal.ts'
import { commandLineOfEachTest, openCommandLine } from './testing/command-line.ts'

const ID = 'acct_01m7zxq2n8v4k6c0d1e2f3g4h5'
const LONG = 'Northwind Support and Field Operations'
const ROWS = [
  [ID, LONG, '$12.50'],
  [ID, 'Ada', '$1,204.00'],
]
const HEADINGS = ['ID', 'NAME', 'AVAILABLE']

const linesAt = (columnsMax: number | null, cut: Readonly<Record<string, number>> = { NAME: 12 }) =>
  fittingTable(HEADINGS, ROWS, cut)(columnsMax).split('\n')

test('a row of a list fits the terminal: free text ends with "…", an ID and an amount are whole', () => {
  for (const columnsMax of [60, 70, 80]) {
    const lines = linesAt(columnsMax)
    expect(Math.max(...lines.map((text) => text.length))).toBeLessThanOrEqual(columnsMax)
    expect(lines[1]).toMatch(new RegExp(`^${ID}  Northwind .*…  \\$12\\.50$`))
    expect(lines[2]).toMatch(new RegExp(`^${ID}  Ada +\\$1,204\\.00$`))
  }
  expect(linesAt(60)[1]).toBe(`${ID}  Northwind Suppo…  $12.50`)
})

test('in a pipe, and if rows fit, nothing is cut', () => {
  const whole = table(HEADINGS, ROWS)
  expect(linesAt(null).join('\n')).toBe(whole)
  expect(linesAt(200).join('\n')).toBe(whole)
  expect(whole).toContain(LONG)
})

test('a row that cannot fit continues on an indented line between two columns, never within one', () => {
  expect(linesAt(40).slice(0, 4)).toEqual([
    'ID',
    '  NAME                         AVAILABLE',
    ID,
    '  Northwind Support and Fiel…  $12.50',
  ])
  expect(linesAt(20, {}).slice(3, 6)).toEqual([ID, `  ${LONG}`, '  $12.50'])
})

test('if a row cannot fit, columns without any value are left out', () => {
  const headings = ['ID', 'LIMIT', 'STATE', 'EXPIRES']
  const rows = [
    [ID, '-', 'active', '-'],
    [ID, '-', '-', '-'],
  ]
  const shown = fittingTable(headings, rows, {})
  const [, ...lines] = shown(40).split('\n')
  expect(lines).toEqual([`${ID}  active`, `${ID}  -`])
  expect(shown(60)).toBe(table(headings, rows))
  expect(shown(null)).toBe(table(headings, rows))
})

test('a sentence at the end of a row is broken between words, below its beginning; in a pipe it is one line', () => {
  const rows = [
    ['ok', 'version', 'tollgate 1.2.3'],
    ['warning', 'server', 'no server answers at http://127.0.0.1:8787: start it'],
  ]
  const shown = sentenceTable(['STATE', 'CHECK', 'RESULT'], rows)
  expect(shown(50).split('\n')).toEqual([
    'STATE    CHECK    RESULT',
    'ok       version  tollgate 1.2.3',
    'warning  server   no server answers at',
    '                  http://127.0.0.1:8787: start it',
  ])
  expect(shown(null)).toBe(table(['STATE', 'CHECK', 'RESULT'], rows))
  expect(shown(30)).toBe(table(['STATE', 'CHECK', 'RESULT'], rows))
})

test('of several columns of text the widest is cut first', () => {
  const row = ['act_1', 'a'.repeat(20), 'b'.repeat(40)]
  const shown = fittingTable(['ID', 'BY', 'FIELDS'], [row], { BY: 12, FIELDS: 12 })
  expect(shown(50).split('\n')[1]).toBe(`act_1  ${'a'.repeat(20)}  ${'b'.repeat(20)}…`)
  expect(shown(39).split('\n')[1]).toBe(`act_1  ${'a'.repeat(14)}…  ${'b'.repeat(14)}…`)
})

test('an amount in free text is cut whole: a part of it would be another amount', () => {
  const shown = fittingTable(['FIELDS'], [['name=Ada credit_limit=$1,204.50']], { FIELDS: 12 })
  expect(shown(28).split('\n')[1]).toBe('name=Ada …')
})

test('characters that take two columns of a terminal count as two, and are not cut in half', () => {
  const shown = fittingTable(
    ['NAME', 'STATE'],
    [
      ['\u5317\u98ce'.repeat(20), 'active'],
      ['e\u0301'.repeat(30), 'active'],
    ],
    { NAME: 12 },
  )
  const [, wide, accents] = shown(30).split('\n')
  expect(wide).toBe(`${'\u5317\u98ce'.repeat(5)}…   active`)
  expect(accents).toBe(`${'e\u0301'.repeat(21)}…  active`)
})

test('results have the width of the terminal, and no width in a pipe', () => {
  const remarks = { isTTY: true, columns: 80, write: () => {} }
  const widthOf = (isTTY: boolean) =>
    createTerminal({ results: { ...remarks, isTTY, columns: 100 }, remarks }).columnsMax
  expect([widthOf(true), widthOf(false)]).toEqual([100, null])
})

const line = commandLineOfEachTest()

test('lists fit the terminal, and one thing is shown whole', async () => {
  const name = `${LONG}, `.repeat(5).trim()
  const accountId = await line.make('account', 'create', name)
  await line.run('key', 'create', accountId, '--name', name)
  const { storeUrl } = line
  const terminal = openCommandLine({ storeUrl }, { operations: [], commands: [], columnsMax: 200 })
  for (const list of [
    ['account', 'list'],
    ['action', 'list'],
    ['key', 'list', accountId],
  ]) {
    const { out } = await terminal.run(...list)
    expect(Math.max(...out.split('\n').map((text) => text.length))).toBeLessThanOrEqual(200)
    expect(out).toContain('…')
    expect(out).not.toContain(name)
    expect((await line.run(...list)).out).toContain(name)
  }
  expect((await terminal.run('account', 'show', accountId)).out).toContain(name)
  terminal.close()
})

test('a name that turns the direction of text takes the room of its escape, in a pipe and on a terminal', () => {
  const rows = [
    ['key_1', 'a\u202eb', 'active'],
    ['key_2', 'laptop', 'active'],
  ]
  const expected = [
    'ID     NAME      STATE',
    String.raw`key_1  a\u202eb  active`,
    'key_2  laptop    active',
  ].join('\n')
  const shown = fittingTable(['ID', 'NAME', 'STATE'], rows, {})
  expect([shown(null), shown(80)]).toEqual([expected, expected])
})
