import { expect, test } from 'vitest'
import { checkLengths, type LengthBaseline } from './lengths.ts'
import { judgeToyTree } from './toy-tree.ts'

const lines = (count: number, line = 'step()') => `${line}\n`.repeat(count)
const functionOf = (count: number) => `function walk() {\n${lines(count - 2)}}\n`

function judge(texts: Readonly<Record<string, string>>, baseline: LengthBaseline = {}) {
  return judgeToyTree((files) => checkLengths(files, baseline), texts)
}

test('400 lines a file and 70 a function pass', async () => {
  expect(await judge({ 'src/a.ts': lines(400), 'src/b.ts': functionOf(70) })).toEqual([])
})

test('a file of 401 lines fails', async () => {
  expect(await judge({ 'src/a.ts': lines(401) })).toEqual([
    'src/a.ts the file has 401 lines, the limit is 400',
  ])
})

test.each([
  ['a function', functionOf(71)],
  ['an arrow function', `const walk = () => {\n${lines(69)}}\n`],
  ['a method', `class A {\nwalk() {\n${lines(69)}}\n}\n`],
])('%s of 71 lines fails', async (_, text) => {
  expect(await judge({ 'src/a.ts': text })).toEqual([
    expect.stringMatching(/^src\/a\.ts:\d walk has 71 lines, the limit is 70$/),
  ])
})

test('a function that groups tests may be longer than each of them', async () => {
  const grouped = `test('adds', () => {\n${lines(30)}})\n`.repeat(3)
  expect(await judge({ 'src/a.test.ts': `describe('sums', () => {\n${grouped}})\n` })).toEqual([])
  expect(await judge({ 'src/a.test.ts': `test('adds', () => {\n${lines(69)}})\n` })).toEqual([
    'src/a.test.ts:1 anonymous has 71 lines, the limit is 70',
  ])
})

test('what the baseline names may neither grow nor keep an allowance that it no longer needs', async () => {
  const texts = { 'src/a.ts': functionOf(80) }
  expect(await judge(texts, { 'src/a.ts#walk': 80 })).toEqual([])
  expect(await judge(texts, { 'src/a.ts#walk': 79 })).toEqual([
    'src/a.ts:1 walk grew from 79 to 80 lines, the limit is 70',
  ])
  expect(await judge(texts, { 'src/a.ts#walk': 81 })).toEqual([
    'src/a.ts:1 walk shrank to 80 lines: lower its baseline of 81',
  ])
  expect(await judge({ 'src/a.ts': functionOf(70) }, { 'src/a.ts#walk': 80 })).toEqual([
    'src/a.ts#walk is within the limits: drop it from the baseline',
  ])
})
