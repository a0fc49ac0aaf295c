import { expect, test } from 'vitest'
import { checkCycles, type HouseShape, measureShape } from './house-shape.ts'
import { judgeToyTree } from './toy-tree.ts'

async function shapeOf(texts: Readonly<Record<string, string>>): Promise<HouseShape> {
  const measured: HouseShape[] = []
  await judgeToyTree((files) => {
    measured.push(measureShape(files))
    return []
  }, texts)
  const [shape] = measured
  if (shape === undefined) throw new Error('nothing was measured')
  return shape
}

test('a cycle fails, of types too; tests may close one', async () => {
  const verdict = await judgeToyTree(checkCycles, {
    'src/a.ts': `import type { B } from './b.ts'`,
    'src/b.ts': `import { a } from './a.ts'`,
    'src/c.ts': `import { a } from './a.ts'`,
    'src/c.test.ts': `import { c } from './c.ts'`,
  })
  expect(verdict).toEqual([
    'src/a.ts imports src/b.ts and is imported by them: move what both need into one of them',
  ])
})

test('files that import each other are one cycle; imports of types make cycles of their own', async () => {
  const { cycles, cyclesWithTypes } = await shapeOf({
    'src/a.ts': "import './b.ts'\n",
    'src/b.ts': "import './c.ts'\n",
    'src/c.ts': "import './a.ts'\nimport './d.ts'\n",
    'src/d.ts': "import type { E } from './e.ts'\n",
    'src/e.ts': "import './d.ts'\n",
  })
  expect(cycles).toEqual([['src/a.ts', 'src/b.ts', 'src/c.ts']])
  expect(cyclesWithTypes).toEqual([
    ['src/a.ts', 'src/b.ts', 'src/c.ts'],
    ['src/d.ts', 'src/e.ts'],
  ])
})

test('a file has one importer if one file of src/ imports it, however often, and tests do not count', async () => {
  const { oneImporter } = await shapeOf({
    'src/a.ts': "import './one.ts'\nimport type { T } from './one.ts'\nimport './two.ts'\n",
    'src/b.ts': "import './two.ts'\n",
    'src/b.test.ts': "import './one.ts'\n",
    'src/one.ts': 'const one = 1\n',
    'src/two.ts': 'const two = 1\n',
  })
  expect(oneImporter).toEqual(['src/one.ts'])
})

test('lines beside the server are counted by place, and the longest function of each side is found', async () => {
  const { linesBeside, longestFunction, pathsOfThePage } = await shapeOf({
    'src/a.ts': 'function f() {\n  return 1\n}\n',
    'src/a.test.ts': 'f()\n',
    'test/b.test.ts': 'f()\nf()\n',
    'web/c.tsx':
      "const g = () => {\n  read<A>('a/b')\n  write(one)\n  return 2\n}\n// ../api/client.ts\n",
    'web/d.ts': "read('of another file')\n",
    'bench/d.ts': 'const d = 1\n',
  })
  expect(linesBeside).toEqual({ bench: 1, 'tests in src': 1, 'tests in test': 2, web: 7 })
  expect(longestFunction).toEqual({ server: 3, page: 5 })
  expect(pathsOfThePage).toBe(2)
})
