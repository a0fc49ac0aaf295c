import { expect, test } from 'vitest'
import { checkHouse, type HouseFigures, measureHouse } from './house.ts'
import { judgeToyTree } from './toy-tree.ts'

async function figuresOf(texts: Readonly<Record<string, string>>): Promise<HouseFigures> {
  const measured: HouseFigures[] = []
  await judgeToyTree((files) => {
    measured.push(measureHouse(files))
    return []
  }, texts)
  const [figures] = measured
  if (figures === undefined) throw new Error('nothing was measured')
  return figures
}

test('files and lines are counted by room, without tests', async () => {
  const figures = await figuresOf({
    'src/store/a.ts': 'const a = 1\n',
    'src/store/b.ts': 'const b = 1\nconst c = 2\nconst d = 3\n',
    'src/store/b.test.ts': 'const e = 1\n',
    'src/http/c.ts': 'const f = 1\nconst g = 2\n',
    'tidy/d.ts': 'const h = 1\n',
  })
  expect(figures).toMatchObject({ files: 3, lines: 6, medianLines: 2 })
  expect(figures.rooms).toEqual({ store: { files: 2, lines: 4 }, http: { files: 1, lines: 2 } })
})

test('an export counts as imported by a list, by another export, lazily, and by a test', async () => {
  const { exportsWithoutImporter, exportsPer1000Lines } = await figuresOf({
    'src/a.ts':
      'export const one = 1\nexport interface Two {}\nexport function three() {}\nexport class Four {}\nexport type Five = 5\n',
    'src/b.ts': "import { one } from './a.ts'\nexport { Four } from './a.ts'\n",
    'src/b.test.ts': "import type { Two } from './a.ts'\n",
    'src/c.ts': "const { three } = await import('./a.ts')\n",
  })
  expect(exportsWithoutImporter).toEqual(['src/a.ts Five', 'src/b.ts Four'])
  expect(exportsPer1000Lines).toBe(750)
})

test('an interface that one place names is found, one that two name is not', async () => {
  const { interfacesUsedOnce } = await figuresOf({
    'src/a.ts':
      'interface Once {}\ninterface Twice {}\nfunction f(a: Once, b: Twice): Twice {\n  return b\n}\n',
  })
  expect(interfacesUsedOnce).toEqual(['src/a.ts Once'])
})

test('six lines that stand twice are found, but for imports and comments; five are not', async () => {
  const run = (count: number): string =>
    Array.from({ length: count }, (_, at) => `call${at}()\n`).join('')
  const { duplicates } = await figuresOf({
    'src/a.ts': `start()\n${run(6)}`,
    'src/b.ts': `other()\n// a comment\n${run(6)}more()\n`,
    'src/c.ts': `another()\n${run(5)}`,
  })
  expect(duplicates).toEqual(['src/a.ts:2 src/b.ts:3'])
})

test('an export without importer fails, and so do lines that stand twice', async () => {
  const judge = (texts: Readonly<Record<string, string>>): Promise<string[]> =>
    judgeToyTree(checkHouse, texts)
  expect(await judge({ 'src/store/a.ts': 'const a = 1\n' })).toEqual([])
  expect(await judge({ 'src/store/a.ts': 'export const a = 1\n' })).toEqual([
    'src/store/a.ts exports a, which no other file imports',
  ])
  const run = Array.from({ length: 6 }, (_, at) => `call${at}()\n`).join('')
  expect(await judge({ 'src/store/a.ts': run, 'src/store/b.ts': run })).toEqual([
    'src/store/b.ts:1 has six lines or more that stand in src/store/a.ts:1 too',
  ])
})
