import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { isCode, isTest, readSourceTree, type SourceFile, type Violation } from './source-tree.ts'
import { judgeToyTree } from './toy-tree.ts'

const ROOT = join(import.meta.dirname, '..')
const files = await readSourceTree(ROOT)

/** Imports across the border of books/, in both directions. */
function crossings(tree: readonly SourceFile[]): Violation[] {
  // A file outside names the folder where it imports from it: the others need not be parsed, which takes seconds.
  const concerned = tree.filter(({ path, text }) => `${path} ${text}`.includes('books'))
  return concerned.filter(isCode).flatMap((file) =>
    importsOf(file)
      .filter(({ path, specifier }) => {
        const isInside = file.path.startsWith('books/')
        if (path !== null) return isInside !== path.startsWith('books/')
        return isInside && !isTest(file) && !/^(?:node:.*|yaml)$/.test(specifier)
      })
      .map(({ specifier, line }) => ({ path: file.path, line, message: `imports ${specifier}` })),
  )
}

test('books/ imports nothing of the product but yaml, and the product nothing of it', () => {
  expect(crossings(files)).toEqual([])
})

test('an import over the border is found, in both directions', async () => {
  const found = await judgeToyTree(crossings, {
    'books/run.ts': "import '../src/main.ts'\nimport 'zod'\nimport 'yaml'\nimport './report.ts'",
    'books/report.ts': '',
    'src/main.ts': "import '../books/run.ts'",
  })
  expect(found).toEqual([
    'books/run.ts:1 imports ../src/main.ts',
    'books/run.ts:2 imports zod',
    'src/main.ts:1 imports ../books/run.ts',
  ])
})

test('the docs have the sentences that the adapter of tollgate quotes', () => {
  const adapter = readFileSync(join(ROOT, 'books/adapters/tollgate.yaml'), 'utf8')
  const quotes = [...adapter.matchAll(/(docs\/[\w-]+\.md): "([^"]+)"/g)]
  expect(quotes.length).toBeGreaterThan(1)
  for (const [, page = '', quote] of quotes)
    expect(readFileSync(join(ROOT, page), 'utf8').replace(/\s+/g, ' ')).toContain(quote)
})
