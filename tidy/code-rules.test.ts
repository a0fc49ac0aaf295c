import { expect, test } from 'vitest'
import {
  checkAssertions,
  checkDialectWords,
  checkDocComments,
  checkFloats,
  checkHttpImports,
  checkLeftovers,
  checkOldFunctions,
  checkParameters,
} from './code-rules.ts'
import { judgeToyTree } from './toy-tree.ts'

test.each([
  'parseFloat(text)',
  'Number.parseFloat(text)',
  'cost.toFixed(6)',
  'cost.toPrecision(3)',
])('%s is floating point', async (text) => {
  expect(await judgeToyTree(checkFloats, { 'src/pricing/a.ts': text })).toEqual([
    expect.stringContaining('is floating point'),
  ])
  expect(await judgeToyTree(checkFloats, { 'src/vocabulary/money.ts': text })).toEqual([])
})

test.each(['this.#end = () => {}', 'made.end = function () {}'])(
  'a function assigned to a property fails: %s',
  async (text) => {
    const verdict = await judgeToyTree(checkOldFunctions, {
      'src/a.ts': `class A { a() { ${text} } }`,
    })
    expect(verdict).toEqual([expect.stringContaining('is an old object')])
  },
)

test('a function that has a name, or is a field, may be a property', async () => {
  const verdict = await judgeToyTree(checkOldFunctions, {
    'src/a.ts':
      'class A { end = () => {}; a() { const go = () => {}; this.go = go; return { b: () => {} } } }',
  })
  expect(verdict).toEqual([])
})

test('an import of a value of node:http fails, and one of types passes', async () => {
  const verdict = await judgeToyTree(checkHttpImports, {
    'src/a.ts': "import { createServer, type Server } from 'node:http'",
    'src/b.ts': "import type { Server } from 'node:http'",
  })
  expect(verdict).toEqual([expect.stringMatching(/^src\/a\.ts.*loads Node's fetch too/)])
})

test.each([
  ['a function', 'export function sum() {}', 'sum'],
  ['a constant', '\nexport const SUM = 1', 'SUM'],
  ['a class', 'export class Sum {}', 'Sum'],
  ['a type', 'export type Sum = 1', 'Sum'],
  ['an interface', 'export interface Sum {}', 'Sum'],
  ['a default', 'export default 1', 'default'],
  ['a name exported below', 'const sum = 1\nexport { sum }', 'sum'],
  ['a comment that is no doc comment', '// Adds.\nexport const sum = 1', 'sum'],
  ['an empty doc comment', '/** */\nexport const sum = 1', 'sum'],
  ['a doc comment of something else', '/** Adds. */\nconst a = 1\nexport const sum = 1', 'sum'],
])('an export without a doc comment fails: %s', async (_, text, name) => {
  expect(await judgeToyTree(checkDocComments, { 'src/a.ts': text })).toEqual([
    expect.stringContaining(`${name} is exported without a doc comment`),
  ])
})

test('documented exports, their members, input objects, re-exports and tests pass', async () => {
  const verdict = await judgeToyTree(checkDocComments, {
    'src/a.ts': `
      /** Adds. */
      export function sum(): number
      export function sum(a?: number): number { return a ?? 0 }
      /**
       * The added number.
       */
      export interface Terms { readonly a: number }
      export interface SumInput { readonly b: number }
      export { other } from './other.ts'
      /** Subtracts. */
      const minus = 1
      export { minus }
    `,
    'src/a.test.ts': 'export const undocumented = 1',
    'simulator/a.ts': 'export const undocumented = 1',
  })
  expect(verdict).toEqual([])
})

test.each([
  ['const open = (path: string, flag: boolean) => {}', 'a boolean'],
  ['function open(path: string, flag = true) {}', 'a boolean'],
  ['interface A { open(path: string, name: string): void }', 'two of type string'],
  ['class A { open(first: number, last: number) {} }', 'two of type number'],
  ['type Open = (first: number, last: number) => void', 'two of type number'],
])('%s cannot be read at the call', async (text, reason) => {
  expect(await judgeToyTree(checkParameters, { 'src/a.ts': text })).toEqual([
    expect.stringContaining(`takes ${reason} by position`),
  ])
})

test('parameters of different types, a lone boolean and tests pass', async () => {
  const verdict = await judgeToyTree(checkParameters, {
    'src/a.ts': `
      function open(path: string, bytes: number) {}
      function setDisabled(disabled: boolean) {}
      function add(a: Micros, b: Micros) {}
    `,
    'src/a.test.ts': 'function open(path: string, name: string) {}',
  })
  expect(verdict).toEqual([])
})

test.each(['const a = b as Row', 'const a = <Row>b', 'const a = b as unknown as Row'])(
  '%s fails without a reason and passes with one',
  async (text) => {
    const verdict = await judgeToyTree(checkAssertions, { 'src/http/a.ts': `first()\n${text}` })
    expect(verdict[0]).toContain('src/http/a.ts:2 "as" without a reason')
    const excused = { 'src/http/a.ts': `// The column is of that type.\n${text}` }
    expect(await judgeToyTree(checkAssertions, excused)).toEqual([])
  },
)

test('as const, imports under another name and brands pass', async () => {
  const verdict = await judgeToyTree(checkAssertions, {
    'src/http/a.ts': `import { a as b } from './b.ts'\nconst list = [1] as const`,
    'src/vocabulary/money.ts': 'const zero = 0 as Micros',
  })
  expect(verdict).toEqual([])
})

test.each(['// TODO: more', '/* FIXME */', '/** XXX later. */'])(
  '%s is left over',
  async (text) => {
    expect(await judgeToyTree(checkLeftovers, { 'src/a.ts': text })).toEqual([
      expect.stringContaining('finish it or drop it'),
    ])
  },
)

test('a word in a string is not left over', async () => {
  expect(await judgeToyTree(checkLeftovers, { 'src/a.ts': `const word = 'TODO'` })).toEqual([])
})

test("a provider's word outside of its dialect is named, and in its folder or a test it is not", async () => {
  const text = "const type = 'openrouter:web_search'"
  const texts = {
    'src/formats/a.ts': `\n${text}`,
    'src/formats/a.test.ts': text,
    'src/upstreams/openrouter/a.ts': text,
  }
  expect(await judgeToyTree(checkDialectWords, texts)).toEqual([
    expect.stringContaining("src/formats/a.ts:2 openrouter: is a provider's word"),
  ])
})
