import { afterEach, beforeEach, expect, test } from 'vitest'
import { runScript } from '../../ledger/testing/script.ts'
import { createSqliteBench } from '../../ledger/testing/sqlite-bench.ts'
import type { StoreBench } from '../../ledger/testing/store-bench.ts'
import { requestCsv } from './request-csv.ts'

let bench: StoreBench

beforeEach(async () => {
  bench = await createSqliteBench()
  await runScript(
    bench,
    `account A
     account B
     key K A
     key L B
     credit A backed 3000000 r
     credit B backed 100 r
     open R1 K 2100000
     settle R1 final 1050001
     open R2 K 7
     open R3 L 7`,
  )
})
afterEach(() => bench.close())

async function lines(
  filter: Parameters<typeof requestCsv>[1]['filter'],
  isForOperators = false,
): Promise<string[]> {
  let text = ''
  for await (const part of requestCsv(bench.store.pages({ owner: 'test' }), {
    filter,
    isForOperators,
  }))
    text += part
  return text.split('\r\n')
}

async function change(modelId: string): Promise<void> {
  await bench.db.updateTable('holds').set({ model_id: modelId }).where('id', '=', 'R2').execute()
}

test('a file has the requests of one account, newest first, with exact dollars', async () => {
  const [header, second, first, ...rest] = await lines({ accountId: 'A' })
  expect(header).toMatch(/^request_id,opened_at,.*,hold,charge,input_tokens,.*,tags$/)
  expect(second).toMatch(/^R2,1970-01-01T00:00:00.000Z,,,K,chat,author\/name,open,,,0.000007,0,,/)
  expect(first).toMatch(/^R1,.*,final,200,,2.1,1.050001,,/)
  expect(rest).toEqual([''])
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t1', '＝1+1', '＠SUM(A1)'])(
  '%j is not a formula to a spreadsheet',
  async (modelId) => {
    await change(modelId)
    expect((await lines({ accountId: 'A' }))[1]).toContain(`,'${modelId},`)
  },
)

test.each([
  ['a;=1+1', "a;'=1+1"],
  ['a;"=1+1', `"a;""'=1+1"`],
  ['a; @SUM(A1);-1', "a; '@SUM(A1);'-1"],
  ['a\n+1', `"a\n'+1"`],
  ['a;b', 'a;b'],
  ['a-1', 'a-1'],
])('%j is no formula where semicolons separate columns', async (modelId, cell) => {
  await change(modelId)
  expect((await lines({ accountId: 'A' }))[1]).toContain(`,${cell},`)
})

test('cells with commas, quotes and line ends stay one cell', async () => {
  await change('a,"b"\nc')
  expect((await lines({ accountId: 'A' }))[1]).toContain(',"a,""b""\nc",')
})

test('the next thousand rows are read only after the ones before were taken', async () => {
  const parts = requestCsv(bench.store.pages({ owner: 'test' }), {
    filter: { accountId: 'A' },
    isForOperators: false,
  })
  expect((await parts.next()).value).toMatch(/^request_id,/)
  await change('changed/later')
  expect((await parts.next()).value).toContain('changed/later')
  await parts.return(undefined)
})

test('a search that finds nothing stops where its reader stops', async () => {
  const parts = requestCsv(bench.store.pages({ owner: 'test' }), {
    filter: { accountId: 'A', modelId: 'unknown/model' },
    isForOperators: false,
  })
  expect((await parts.next()).value).toMatch(/^request_id,/)
  expect(await parts.next()).toEqual({ done: false, value: '' })
  expect(await parts.return(undefined)).toEqual({ done: true, value: undefined })
})

test('costs, fees and upstreams are in the file of operators alone', async () => {
  const [members] = await lines({ accountId: 'A' })
  const [operators, , first] = await lines({}, true)
  expect(members).not.toMatch(/cost|fee|margin|upstream|generation/)
  expect(operators).toBe(
    `${members},account_id,upstream,generation_id,fee_basis_points,provider_cost,uncharged_provider_cost,margin`,
  )
  expect(first).toContain('R2')
})

test('the margin of an estimated charge is taken from its estimated cost, as in reports', async () => {
  await runScript(bench, 'open R4 K 210000\nsettle R4 provisional 105000 estimate')
  const rows = await lines({ accountId: 'A' }, true)
  expect(rows[1]).toMatch(/^R4,.*,provisional,.*,0\.105,.*,500,,,0\.005$/)
  expect(rows[3]).toMatch(/^R1,.*,1\.050001,.*,500,1\.000000952381,,0\.05$/)
})
