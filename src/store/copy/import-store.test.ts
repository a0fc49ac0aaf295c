import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseDatabaseUrl } from '../database-url.ts'
import { openStore } from '../open-store.ts'
import { exportedText, exportText, type RowLines, sealed } from '../testing/exports.ts'
import { TEST_DATABASES, type TestDatabase } from '../testing/test-databases.ts'
import { ImportRefused, importStore } from './import-store.ts'

let folder: string
let files: number
let databases: TestDatabase[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'))
  files = 0
  databases = []
})
afterEach(async () => {
  await Promise.all(databases.map((database) => database.remove()))
  await rm(folder, { recursive: true })
})

function newFile(): string {
  return join(folder, `${++files}.jsonl`)
}

async function newDatabase(engine: string): Promise<string> {
  const database = await TEST_DATABASES.find((one) => one.engine === engine)?.create()
  if (database === undefined) throw new Error(`no engine ${engine}`)
  databases.push(database)
  // Makes the tables.
  await (await openStore({ url: database.url })).close()
  return database.url
}

async function importText(text: string, url: string): Promise<void> {
  const file = newFile()
  await writeFile(file, text)
  await importStore({ location: parseDatabaseUrl(url), file, verify: async () => {} })
}

const ACCOUNT = '["acct_1","Ada",null,0,1,5,0,0,0,null,1,"",1]'
const ENTRY = '["acct_1",1,"top_up","backed",5,"r",null,null,null,1]'
const ROWS = { accounts: [ACCOUNT], entries: [ENTRY], settings: ['["maintenance","off"]'] }

/** Stores that are empty but for one row, by the table that has it. */
const ONE_ROW_EACH: Readonly<Record<string, RowLines>> = {
  accounts: { accounts: [ACCOUNT] },
  settings: { settings: ['["maintenance","off"]'] },
  instances: { instances: ['["inst_1",1,1,null]'] },
  catalog_state: { catalog_state: ['[1,"simulator",1]'] },
  credit_codes: { credit_codes: ['["code_1","h","s",1,1,null,null,null,null]'] },
}

// PostgreSQL has no text with a zero character in it, and neither engine has half a surrogate pair.
const text = fc.string({ unit: 'binary', maxLength: 12 }).filter((value) => !value.includes('\0'))
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(0n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)),
)

const rows: fc.Arbitrary<RowLines> = fc
  .record({
    settings: fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name }),
    price_snapshots: fc.uniqueArray(fc.tuple(text, text, text, integer), {
      selector: ([name]) => name,
    }),
    instances: fc.uniqueArray(fc.tuple(text, integer, integer, fc.option(integer, { nil: null })), {
      selector: ([name]) => name,
    }),
  })
  .map((tables) =>
    Object.fromEntries(
      Object.entries(tables).map(([name, values]) => [name, values.sort(byFirst).map(lineOf)]),
    ),
  )

function byFirst([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function lineOf(values: readonly (string | bigint | null)[]): string {
  const written = values.map((value) =>
    typeof value === 'bigint' ? String(value) : JSON.stringify(value),
  )
  return `[${written.join(',')}]`
}

test('any text and any integer comes back to the byte, on either engine and from one to the other', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (rowLines) => {
      const original = exportText(rowLines)
      const [sqlite, postgres] = [await newDatabase('SQLite'), await newDatabase('PostgreSQL')]
      await importText(original, sqlite)
      const fromSqlite = await exportedText({ url: sqlite, file: newFile() })
      expect(fromSqlite).toBe(original)
      await importText(fromSqlite, postgres)
      expect(await exportedText({ url: postgres, file: newFile() })).toBe(original)
    }),
    { numRuns: 4 },
  )
})

test.each([
  ['plain', 'x'],
  ['escaped', '\n"\\'],
])(
  'a %s text of megabytes comes back beside an integer that no number of JavaScript is',
  async (_how, characters) => {
    const url = await newDatabase('SQLite')
    const long = JSON.stringify(
      characters.repeat(14_000_000 / (JSON.stringify(characters).length - 2)),
    )
    const original = exportText({ price_snapshots: [`["p","a/b",${long},9223372036854775807]`] })
    await importText(original, url)
    expect((await exportedText({ url, file: newFile() })) === original).toBe(true)
  },
)

test('pages of a key with a number in it are in the order of the number', async () => {
  const entries = Array.from({ length: 2_500 }, (_, place) =>
    ENTRY.replace('1,', `${place + 1},`).replace('"r"', 'null'),
  )
  const original = exportText({ ...ROWS, entries })
  for (const engine of ['SQLite', 'PostgreSQL']) {
    const url = await newDatabase(engine)
    await importText(original, url)
    expect(await exportedText({ url, file: newFile() })).toBe(original)
  }
})

test('a PostgreSQL database that orders text as a language does exports the same bytes', async () => {
  const url = await newDatabase('PostgreSQL')
  const store = await openStore({ url })
  await sql`alter table settings alter column name type text collate "und-x-icu"`.execute(store.db)
  await store.close()
  const settings = ['["B","1"]', '["a","2"]', '["b","3"]', '["Ä","4"]']
  const original = exportText({ settings })
  await importText(original, url)
  expect(await exportedText({ url, file: newFile() })).toBe(original)
})

test('an export is its owner’s alone, and never written over a file', async () => {
  const url = await newDatabase('SQLite')
  const file = newFile()
  await exportedText({ url, file })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await expect(exportedText({ url, file })).rejects.toMatchObject({ name: 'FileExists' })
  await expect(exportedText({ url, file: join(file, 'below') })).rejects.toMatchObject({
    name: 'StoreUnavailable',
  })
})

const whole = exportText(ROWS)
const withRow = (line: string) => exportText({ ...ROWS, settings: [line] })

describe.each(TEST_DATABASES)('on $engine', ({ engine, create }) => {
  let empty: TestDatabase

  beforeAll(async () => {
    empty = await create()
    await (await openStore({ url: empty.url })).close()
  })
  afterAll(() => empty.remove())

  test.each<[string, string, RegExp]>([
    ['an empty file', '', /the file is empty/],
    ['another file', '{"object":"list"}\n', /the file is no export/],
    ['bytes', '\0\0\0', /the file is no export/],
    [
      'an export without its last line',
      whole.slice(0, whole.lastIndexOf('\n{') + 1),
      /it was cut off/,
    ],
    [
      'an export that ends within a row',
      whole.slice(0, whole.indexOf('"Ada"')),
      /is no row of accounts/,
    ],
    ['an export that ends within its first line', whole.slice(0, 20), /the file is no export/],
    ['an export that ends within its last line', whole.slice(0, -9), /should end here/],
    [
      'a row that was dropped',
      whole.replace(`${ENTRY}\n`, ''),
      /has 0 rows of entries and says that it has 1/,
    ],
    ['an amount that was changed', whole.replace('"backed",5', '"backed",6'), /its digest differs/],
    [
      'a count that was changed',
      whole.replace('"entries":1', '"entries":2'),
      /has 1 rows of entries and says that it has 2/,
    ],
    ['a newer format', whole.replace('"version":1', '"version":2'), /made by a newer program/],
    ['a newer schema', whole.replace(/"schema":\d+/, '"schema":1000'), /made by a newer program/],
    [
      'an older schema',
      whole.replace(/"schema":\d+/, '"schema":1'),
      /the export has schema 1 and this program needs/,
    ],
    [
      'a table that is missing',
      sealed(
        whole
          .split('\n')
          .filter((line) => !line.includes('"table":"requests"'))
          .slice(0, -2),
        ROWS,
      ),
      /the rows of requests should begin here/,
    ],
    [
      'other columns',
      whole.replace('"columns":["name","value"]', '"columns":["value","name"]'),
      /settings has other columns/,
    ],
    ['something behind its end', `${whole}${ACCOUNT}\n`, /should end here/],
    ['a row of too few values', withRow('["a"]'), /is no row of settings/],
    ['a number for a text', withRow('["a",1]'), /is no row of settings/],
    [
      'a text for a number',
      exportText({ ...ROWS, accounts: [ACCOUNT.replace(',0,1,5', ',"0",1,5')] }),
      /is no row of accounts/,
    ],
    [
      'a fraction for an integer',
      exportText({ ...ROWS, accounts: [ACCOUNT.replace(',0,1,5', ',0.5,1,5')] }),
      /is no row of accounts/,
    ],
    [
      'more than 64 bits',
      exportText({ ...ROWS, accounts: [ACCOUNT.replace(',5,', ',9223372036854775808,')] }),
      /is no row of accounts/,
    ],
    ['a line without an end', whole.replace('Ada', 'A'.repeat(17 << 20)), /a line is longer than/],
  ])('%s is refused, and the store stays empty', async (_what, changed, said) => {
    const refused = await importText(changed, empty.url).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ImportRefused)
    expect(refused).toMatchObject({ message: expect.stringMatching(said) })
    expect(await exportedText({ url: empty.url, file: newFile() })).toBe(exportText({}))
  })

  test('rows that the store itself refuses leave it empty', async () => {
    const { url } = empty
    const orphan = exportText({ entries: [ENTRY] })
    await expect(importText(orphan, url)).rejects.toMatchObject({ name: 'StoreRefused' })
    expect(await exportedText({ url, file: newFile() })).toBe(exportText({}))
  })

  test('what looks at the rows before they are committed can undo them', async () => {
    const { url } = empty
    const file = newFile()
    await writeFile(file, whole)
    const refused = importStore({
      location: parseDatabaseUrl(url),
      file,
      async verify(view) {
        const { rows: found } = await sql<{ readonly name: string }>`
          select name from accounts`.execute(view)
        throw new Error(`not ${found[0]?.name}`)
      },
    })
    await expect(refused).rejects.toThrow('not Ada')
    expect(await exportedText({ url, file: newFile() })).toBe(exportText({}))
  })

  test('a store that has anything at all is not imported into', async () => {
    for (const [name, rowLines] of Object.entries(ONE_ROW_EACH)) {
      const url = await newDatabase(engine)
      const there = exportText(rowLines)
      await importText(there, url)
      await expect(importText(whole, url)).rejects.toThrow(
        `the store is not empty, it has ${name}:`,
      )
      expect(await exportedText({ url, file: newFile() })).toBe(there)
    }
  })
})
