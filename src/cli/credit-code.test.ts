import { expect, test } from 'vitest'
import { cells, commandLineOfEachTest, failedWith } from './testing/command-line.ts'

const line = commandLineOfEachTest()

async function makeAccount(name: string): Promise<string> {
  return await line.make('account', 'create', name)
}

async function makeCode(...args: string[]) {
  const made = await line.json('credit', 'code', 'create', '5', ...args)
  return { id: String(made['id']), code: String(made['code']) }
}

test('a code is shown once, and gives its credit to one account', async () => {
  const { exitCode, out, notes } = await line.run('credit', 'code', 'create', '5')
  expect([exitCode, out]).toEqual([0, expect.stringMatching(/^(?:[0-9A-Z]{6}-){3}[0-9A-Z]{6}\n$/)])
  expect(notes).toMatch(
    /^Created a code for \$5\.00 \(code_\w{26}\)\. This is the only time its text is shown: send it/,
  )
  const code = out.trim().toLowerCase()
  const [ada, bob] = [await makeAccount('Ada'), await makeAccount('Bob')]
  const redeemed = await line.run('credit', 'redeem', ada, code)
  expect(redeemed).toMatchObject({
    exitCode: 0,
    out: `added $5.00 of paid credit to "Ada" (${ada})\n`,
  })
  expect(await line.run('credit', 'redeem', ada, code)).toMatchObject({
    exitCode: 0,
    out: `"Ada" (${ada}) redeemed the code before: nothing changed\n`,
  })
  expect((await line.run('credit', 'code', 'show', code)).out).toContain(
    `redeemed by: "Ada" (${ada})\n`,
  )
  expect(await line.run('credit', 'redeem', bob, code)).toMatchObject({
    exitCode: 1,
    notes: 'tollgate: Another account has redeemed this credit code. Use another code.\n',
  })
  expect(await line.json('account', 'show', ada)).toMatchObject({
    credit: { backed: { balance: 5_000_000 } },
    has_backed_credit: true,
  })
  expect(await line.json('audit')).toMatchObject({ ok: true, checked: { codes: 1 } })
})

test('codes are listed newest first, with the accounts that redeemed them', async () => {
  expect((await line.run('credit', 'code', 'list')).out).toMatch(
    /^no credit codes: create one with/,
  )
  const ada = await makeAccount('Ada')
  const first = await makeCode('--expires', '2999-01-31')
  const second = await makeCode()
  const third = await makeCode()
  await line.run('credit', 'redeem', ada, first.code)
  await line.run('credit', 'code', 'revoke', second.id)
  const { out } = await line.run('credit', 'code', 'list')
  expect(cells(out)).toEqual([
    ['ID', 'CODE', 'WORTH', 'STATE', 'ACCOUNT', 'EXPIRES'],
    [third.id, `…${third.code.slice(-6)}`, '$5.00', 'unredeemed', '-', '-'],
    [second.id, `…${second.code.slice(-6)}`, '$5.00', 'revoked', '-', '-'],
    [first.id, `…${first.code.slice(-6)}`, '$5.00', 'redeemed', ada, '2999-01-31T00:00:00Z'],
  ])
  const page = await line.run('credit', 'code', 'list', '--limit', '2')
  expect(page.notes).toBe(`more: --after ${second.id}\n`)
  expect(await line.json('credit', 'code', 'list', '--after', second.id)).toMatchObject({
    data: [{ id: first.id, redeemed_by: ada }],
    has_more: false,
  })
})

test("a code that can't be redeemed is refused with the reason", async () => {
  const ada = await makeAccount('Ada')
  const revoked = await makeCode()
  const redeemed = await makeCode()
  await line.run('credit', 'code', 'revoke', revoked.id)
  await line.run('credit', 'redeem', ada, redeemed.code)
  for (const [args, code, said] of [
    [['redeem', ada, revoked.code], 1, 'This credit code was revoked.'],
    [['redeem', ada, 'AAAAAA'], 3, 'No such credit code. Check it for mistyped characters.'],
    [['redeem', 'acct_0', revoked.code], 3, 'No account has the ID "acct_0"'],
    [['code', 'create', '0'], 2, '`<dollars>` must be above zero'],
    [['code', 'create', '5', '--expires', '2020-01-01'], 2, '`--expires` must be in the future'],
    [['code', 'revoke', 'code_0'], 3, 'No credit code has the ID "code_0"'],
    [['code', 'revoke', redeemed.id], 1, `Account ${ada} has redeemed this credit code`],
  ] as const) {
    expect(await line.run('credit', ...args)).toEqual(failedWith(code, said))
  }
})
