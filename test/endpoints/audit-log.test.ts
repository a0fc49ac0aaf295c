import { beforeAll, expect, test } from 'vitest'
import { ADA, Browser, inviteGuest, setUpOperator } from '../page/page-client.ts'
import { Management, textOf } from './management.ts'

let operator: Browser
let accountId: string

const admin = Management.ofFile()
beforeAll(async () => {
  operator = await setUpOperator(admin.world)
  accountId = await admin.account(5_000_000)
  await operator.call('PATCH', `operator/accounts/${accountId}`, {
    body: { disabled: true, note: 'Invoice 7, "late": 1' },
  })
  await admin.patch(`/v1/admin/accounts/${accountId}`, { fee_basis_points: 250 })
})

async function listed(query: string): Promise<unknown[]> {
  const { json } = await admin.get(`/v1/admin/actions?limit=100${query}`)
  return Object(json['data']).map((each: object) => [
    Object(each).action,
    Object(each).user_name ?? Object(each).token_name,
  ])
}

test('the audit log is read by token, by account, person and operation', async () => {
  const changes = [
    ['changeAccount', 'ADMIN_API_TOKEN'],
    ['changeAccount', 'Ada'],
  ]
  const me = textOf(Object((await operator.get('me')).json['user']), 'id')
  expect((await listed(`&account=${accountId}`)).slice(0, 2)).toEqual(changes)
  expect(await listed(`&account=${accountId}&action=changeAccount`)).toEqual(changes)
  expect(await listed(`&account=${accountId}&by=${me}`)).toEqual([changes[1]])
  expect(
    await listed(`&account=${accountId}&by=${me},ADMIN_API_TOKEN&action=changeAccount`),
  ).toEqual(changes)
  expect(await listed('&action=none,other')).toEqual([])
})

test('the audit log is read by the fields that changes set, and a text that looks like a field is none', async () => {
  const byFee = ['changeAccount', 'ADMIN_API_TOKEN']
  expect(await listed(`&account=${accountId}&field=fee_basis_points`)).toEqual([byFee])
  expect(await listed(`&account=${accountId}&field=fee_basis_points,note`)).toEqual([
    byFee,
    ['changeAccount', 'Ada'],
  ])
  expect(await listed('&field=late')).toEqual([])
  const refused = await admin.get('/v1/admin/actions?field=Fee%25')
  expect([refused.httpStatus, Object(refused.json['error']).param]).toEqual([400, 'field'])
})

test('the audit log is read from and up to a time, as JSON and as CSV', async () => {
  const { json } = await admin.get(`/v1/admin/actions?account=${accountId}`)
  const times = Object(json['data']).map((each: object) => String(Object(each).created_at))
  const [newest = ''] = times
  const query = `&account=${accountId}`
  const isNewest = times.filter((time: string) => time >= newest).length
  expect(await listed(`${query}&since=${newest}`)).toHaveLength(isNewest)
  expect(await listed(`${query}&until=${newest}`)).toHaveLength(times.length - isNewest)
  expect(await listed(`${query}&since=2099-01-01T00:00:00Z`)).toEqual([])
  expect(await listed(`${query}&until=1970-01-01T00:00:00Z`)).toEqual([])
  const { text } = await operator.get(`operator/actions?format=csv${query}&until=${newest}`)
  expect(text.split('\r\n')).toHaveLength(times.length - isNewest + 2)
  const refused = await admin.get('/v1/admin/actions?since=soon')
  expect([refused.httpStatus, Object(refused.json['error']).param]).toEqual([400, 'since'])
})

test('the whole audit log is downloaded as CSV, with the changed fields', async () => {
  const { httpStatus, headers, text } = await operator.get(
    `operator/actions?format=csv&account=${accountId}&action=changeAccount`,
  )
  expect([httpStatus, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  const [head, byToken, byOperator, ...rest] = text.split('\r\n')
  expect(head).toBe(
    'id,created_at,by,by_name,by_email,action,account_id,target_id,amount,detail,before',
  )
  expect(byToken).toMatch(
    /^act_\w+,[^,]+,,ADMIN_API_TOKEN,,changeAccount,.*"\{""fee_basis_points"":250\}","\{""fee_basis_points"":null\}"$/,
  )
  expect(byOperator).toContain(`,Ada,${ADA.email},changeAccount,`)
  expect(byOperator).toContain('Invoice 7')
  expect(rest).toEqual([''])
})

test('a token without the scope read does not read the audit log', async () => {
  const { json } = await admin.post('/v1/admin/tokens', { name: 'shop', scopes: ['keys'] })
  const refused = await admin.get('/v1/admin/actions', textOf(json, 'token'))
  expect([refused.httpStatus, Object(refused.json['error']).code]).toEqual([
    403,
    'admin_scope_missing',
  ])
})

test('sign-ins of operators and failed attempts at them are recorded, with address and browser, and those of members are not', async () => {
  const account = { accountId, role: 'owner' } as const
  const guest = { email: 'lin@example.org', ...account }
  await inviteGuest(admin.world, guest)
  const browser = new Browser(admin.world)
  const wrong = { ...ADA, password: 'wrong horse battery' }
  for (const email of [ADA.email, guest.email, 'unknown@example.org']) {
    expect((await browser.post('auth/sign-in', { ...wrong, email })).httpStatus).toBe(401)
  }
  expect((await browser.post('auth/sign-in', ADA)).httpStatus).toBe(200)
  // They are written after the answer, which would otherwise say whose address is an operator's.
  const records = async () => {
    const { json } = await admin.get('/v1/admin/actions?action=signIn,failedSignIn')
    return Object(json['data']).map((each: object) => {
      const { action, user_name, detail } = Object(each)
      return [action, user_name, detail]
    })
  }
  const by = (method: string) =>
    expect.objectContaining({ method, browser: 'Test browser', address: expect.any(String) })
  await expect.poll(records).toEqual([
    ['signIn', 'Ada', by('password')],
    ['failedSignIn', 'Ada', by('password')],
    ['signIn', 'Ada', by('setup link')],
  ])
})
