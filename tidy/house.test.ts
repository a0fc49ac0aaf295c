import { expect, test } from 'vitest'
import { checkDuplicates, measureHouse } from './house.ts'
import { judgeToyTree } from './toy-tree.ts'

async function figuresOf(texts: Readonly<Record<string, string>>) {
  const measured: ReturnType<typeof measureHouse>[] = []
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

test('exports are counted by a thousand lines, of lists too', async () => {
  const { exportsPer1000Lines } = await figuresOf({
    'src/a.ts': 'export const one = 1\nexport interface Two {}\nexport function three() {}\n',
    'src/b.ts': "export { one } from './a.ts'\n",
    'src/b.test.ts': 'export const four = 4\n',
  })
  expect(exportsPer1000Lines).toBe(1_000)
})

test('an interface that one place names is found, one that two name is not', async () => {
  const { interfacesUsedOnce } = await figuresOf({
    'src/a.ts':
      'interface Once {}\ninterface Twice {}\nfunction f(a: Once, b: Twice): Twice {\n  return b\n}\n',
  })
  expect(interfacesUsedOnce).toEqual(['src/a.ts Once'])
})

test('a file has one importer if one file of src/ imports it, however often, and tests do not count', async () => {
  const { oneImporter } = await figuresOf({
    'src/a.ts': "import './one.ts'\nimport type { T } from './one.ts'\nimport './two.ts'\n",
    'src/b.ts': "import './two.ts'\n",
    'src/b.test.ts': "import './one.ts'\n",
    'src/one.ts': 'const one = 1\n',
    'src/two.ts': 'const two = 1\n',
  })
  expect(oneImporter).toEqual(['src/one.ts'])
})

test('lines outside the server are counted by place, and so are paths written by hand in the page', async () => {
  const { linesBeside, pathsOfThePage } = await figuresOf({
    'src/a.ts': 'function f() {\n  return 1\n}\n',
    'src/a.test.ts': 'f()\n',
    'test/b.test.ts': 'f()\nf()\n',
    'web/c.tsx':
      "const g = () => {\n  read<A>('a/b')\n  write(one)\n  return 2\n}\n// ../api/client.ts\n",
    'web/d.ts': "read('of another file')\n",
    'bench/d.ts': 'const d = 1\n',
  })
  expect(linesBeside).toEqual({ bench: 1, 'tests in src': 1, 'tests in test': 2, web: 7 })
  expect(pathsOfThePage).toBe(2)
})

test('six lines that occur twice fail, except imports and comments; five pass', async () => {
  const run = (count: number): string =>
    Array.from({ length: count }, (_, at) => `call${at}()\n`).join('')
  const verdict = await judgeToyTree(checkDuplicates, {
    'src/a.ts': `start()\n${run(6)}`,
    'src/b.ts': `other()\n// a comment\n${run(6)}more()\n`,
    'src/c.ts': `another()\n${run(5)}`,
  })
  expect(verdict).toEqual(['src/b.ts:3 has six lines or more that stand in src/a.ts:2 too'])
})
