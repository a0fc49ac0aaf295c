import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TABLE_PAGES, withRows } from './table-pages.ts'

// `npm run docs`: writes the rows of docs/'s tables from the code.
for (const page of TABLE_PAGES) {
  const path = join(import.meta.dirname, '..', page.path)
  const text = await readFile(path, 'utf8')
  const written = withRows(text, page)
  if (written !== text) await writeFile(path, written)
  console.log(`${page.path}: ${written === text ? 'as it was' : 'written'}`)
}
