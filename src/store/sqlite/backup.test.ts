import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../open-store.ts'
import { StoreUnavailable } from '../store-failure.ts'
import { copyAside, WrongPlace, writeNewFile } from './backup.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-new-file-'))
  file = join(folder, 'whole')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes the file in two halves, the second once it may. */
function writeInHalves(text: string) {
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const written = writeNewFile(file, async (partial) => {
    appendFileSync(partial, text.slice(0, text.length / 2))
    begun.resolve()
    await mayEnd.promise
    appendFileSync(partial, text.slice(text.length / 2))
  })
  return { written, begun: begun.promise, end: () => mayEnd.resolve() }
}

test.each([
  ['which began first', 0],
  ['which began last', 1],
])(
  'of two that write a file at the same time, the first to end, %s, writes all of it, and the other fails',
  async (_which, first) => {
    const texts = ['aaaaaa', 'bbbbbb']
    const writers: ReturnType<typeof writeInHalves>[] = []
    for (const text of texts) {
      const writer = writeInHalves(text)
      writers.push(writer)
      await writer.begun
    }
    writers[first]?.end()
    await writers[first]?.written
    expect(readFileSync(file, 'utf8')).toBe(texts[first])
    writers[1 - first]?.end()
    await expect(writers[1 - first]?.written).rejects.toThrow(WrongPlace)
    expect(readFileSync(file, 'utf8')).toBe(texts[first])
    expect(readdirSync(folder)).toEqual(['whole'])
  },
)

test('a file that could not be written leaves no part of it', async () => {
  const failing = writeNewFile(file, async (partial) => {
    appendFileSync(partial, 'half')
    throw new Error('the disk is full')
  })
  await expect(failing).rejects.toThrow('the disk is full')
  expect(readdirSync(folder)).toEqual([])
})

test("a file whose name cannot be looked up is refused as one that can't be created", async () => {
  const long = join(folder, 'a'.repeat(300))
  await expect(writeNewFile(long, async () => {})).rejects.toThrow(StoreUnavailable)
})

test('a failed copy before a migration leaves no partial file, which would look complete', async () => {
  const store = await openStore({ url: `sqlite:${file}` })
  await store.close()
  await expect(copyAside(store.db, file, 26)).rejects.toThrow()
  expect(readdirSync(folder).filter((name) => name.includes('before'))).toEqual([])
})

test('a copy before a migration removes what killed starts left of theirs, and nothing else', async () => {
  const store = await openStore({ url: `sqlite:${file}` })
  const left = [
    'whole.before-27.0123456789ab.partial',
    'whole.before-27.2.0123456789ab.partial-journal',
  ]
  const kept = ['whole.before-26', 'other.before-27.0123456789ab.partial', 'b.0123456789ab.partial']
  for (const name of [...left, ...kept]) appendFileSync(join(folder, name), '')
  await copyAside(store.db, file, 26)
  await store.close()
  const names = readdirSync(folder).filter((name) => /before|partial/.test(name))
  expect(names.toSorted()).toEqual([...kept, 'whole.before-27'].toSorted())
})

test('a folder is refused with the advice to name a file in it', async () => {
  await expect(writeNewFile(folder, async () => {})).rejects.toThrow(
    `${folder} is a folder: name a new file in it`,
  )
})

test('only its owner can read the file, even while it is written', async () => {
  await writeNewFile(file, async (partial) => {
    expect(statSync(partial).mode & 0o777).toBe(0o600)
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
