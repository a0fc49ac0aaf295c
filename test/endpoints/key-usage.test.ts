import { connect } from 'node:net'
import { text as bytesOf } from 'node:stream/consumers'
import { sql } from 'kysely'
import { request } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { noonClock, type WorldInput } from '../world.ts'
import { ADMIN_TOKEN, column, errorOf, Management, refusal, textOf } from './management.ts'

let admin: Management
let accountId: string
let own: { readonly id: string; readonly text: string }
let other: { readonly id: string; readonly text: string }

async function start(input: WorldInput = {}): Promise<void> {
  admin = await Management.start(input)
  accountId = await admin.account(10_000_000)
  own = await admin.apiKey(accountId)
  other = await admin.apiKey(accountId)
}

beforeEach(() => start())
afterEach(() => admin.close())

/** Sends a chat with these headers, and returns its whole answer as text with its request id. */
async function chat(apiKey: string, headers: Readonly<Record<string, string>> = {}, more = {}) {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const answer = await request(admin.world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
    body: JSON.stringify({ model: 'sim/text', max_tokens: 16, messages, ...more }),
  })
  const text = await answer.body.text()
  await admin.world.gateway.settled()
  return { text, id: String(answer.headers['x-request-id']) }
}

/** Stores so many more requests like one. A column has its value with the number of the request in the place of each `#`. */
async function copyRequest(
  id: string,
  count: number,
  changed: { readonly tags?: string; readonly generation_id?: string },
): Promise<void> {
  const { db } = admin.world.gateway.store
  const query = db.selectFrom('requests').selectAll().where('id', '=', id)
  const columns = Object.keys(await query.executeTakeFirstOrThrow())
  const values: Readonly<Record<string, string>> = { id: `${id.slice(0, -5)}#`, ...changed }
  const copied = (name: string) =>
    name in values
      ? sql`replace(${values[name]}, '#', printf(${name === 'id' ? '%05d' : '%d'}, number))`
      : sql.ref(name)
  await sql`
    with recursive numbers (number) as
      (select 0 union all select number + 1 from numbers where number + 1 < ${count})
    insert into requests (${sql.join(columns.map((name) => sql.ref(name)))})
    select ${sql.join(columns.map(copied))} from requests, numbers where id = ${id}
  `.execute(db)
}

async function csv(path: string, apiKey: string, accept = '*/*'): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, accept }
  const answer = await request(admin.world.url(path), { headers })
  expect(answer.headers['content-type']).toMatch(/^text\/csv/)
  return answer.body.text()
}

describe('requests', () => {
  test('are listed and shown to the key that sent them, and to no other key', async () => {
    const { id } = await chat(own.text)
    const theirs = await chat(other.text)
    expect(column(await admin.get('/v1/requests', own.text), 'id')).toEqual([id])
    expect((await admin.get(`/v1/requests/${id}`, own.text)).json).toMatchObject({ id })
    const hidden = await admin.get(`/v1/requests/${theirs.id}`, own.text)
    const unknown = await admin.get('/v1/requests/req_00000000000000000000000000', own.text)
    expect(hidden).toEqual(refusal(404, 'not_found'))
    expect(unknown).toEqual(refusal(404, 'not_found'))
  })

  test('are listed by pages, and not with the key of another account', async () => {
    for (let count = 0; count < 3; count++) await chat(own.text)
    const first = await admin.get('/v1/requests?limit=2', own.text)
    const next = textOf(first.json, 'next_cursor')
    const second = await admin.get(`/v1/requests?limit=2&cursor=${next}`, own.text)
    expect([column(first, 'id').length, column(second, 'id').length]).toEqual([2, 1])
    const named = await admin.get(`/v1/requests?key=${other.id}`, own.text)
    expect(named).toEqual(refusal(400, 'invalid_parameter', 'key'))
  })

  test('are found as generations by both IDs, with their own key only', async () => {
    const { id, text } = await chat(own.text)
    const generationId = textOf(JSON.parse(text), 'id')
    const { json } = await admin.get(`/v1/generation?id=${generationId}`, own.text)
    const { charge } = (await admin.get(`/v1/requests/${id}`, own.text)).json
    expect(json).toMatchObject({
      data: {
        id: generationId,
        request_id: id,
        model: 'sim/text',
        total_cost: Number(charge) / 1_000_000,
        streamed: false,
        native_tokens_completion: expect.any(Number),
        provider_name: null,
      },
    })
    expect((await admin.get(`/v1/generation?id=${id}`, own.text)).json).toEqual(json)
    for (const name of [id, generationId, 'gen-1', 'gen-9999999999-x', 'x'.repeat(200)]) {
      const hidden = await admin.get(`/v1/generation?id=${name}`, other.text)
      expect(hidden).toEqual(refusal(404, 'not_found'))
    }
    const none = await admin.get('/v1/generation', own.text)
    expect(none).toEqual(refusal(400, 'invalid_parameter', 'id'))
  })

  test("are found by an ID without a time among the key's newest 10,000 requests", async () => {
    const { id } = await chat(own.text)
    await copyRequest(id, 10_001, { generation_id: 'plain-#' })
    const statusOf = async (name: string) =>
      (await admin.get(`/v1/generation?id=${name}`, own.text)).httpStatus
    expect(await statusOf('plain-10000')).toBe(200)
    // The one that was copied may be newer.
    expect(await statusOf('plain-2')).toBe(200)
    expect(await statusOf('plain-0')).toBe(404)
  })
})

describe('usage', () => {
  const totalsOf = async (path: string, token?: string) => (await admin.get(path, token)).json

  test('by each group adds up to the charge of the key', async () => {
    await chat(own.text, { 'x-service-tags': 'nightly, =1+1' })
    await chat(own.text)
    await chat(other.text, { 'x-service-tags': 'nightly' })
    const { spend } = (await admin.get('/v1/key', own.text)).json
    for (const by of ['day', 'month', 'model', 'key', 'endpoint', 'tag']) {
      const report = await totalsOf(`/v1/usage?by=${by}`, own.text)
      expect(report).toMatchObject({ by, totals: { requests: 2, charge: spend } })
      const all = await totalsOf(`/v1/admin/usage?by=${by}`)
      expect(all, by).toMatchObject({ totals: { requests: 3 } })
      const ofKey = await totalsOf(`/v1/admin/usage?by=${by}&key=${own.id}`)
      const { data } = report
      expect(ofKey, by).toMatchObject({ totals: { requests: 2, charge: spend }, data })
      expect(JSON.stringify(ofKey), by).toMatch(/"margin":/)
      expect(JSON.stringify(report), by).not.toMatch(/cost|margin|backed|free|written/)
      const lines = await csv(`/v1/usage?by=${by}&format=csv`, own.text)
      expect(lines, by).toBe(await csv(`/v1/usage?by=${by}`, own.text, 'text/csv'))
      const dollars = (Number(spend) / 1_000_000).toString()
      expect(lines.trimEnd().split('\r\n').at(-1)).toMatch(
        new RegExp(`^total,${by === 'key' ? ',' : ''}2,0,${dollars},`),
      )
      if (by !== 'tag') continue
      expect(lines).toContain('\r\n"(without tags, or pruned)",1,')
      expect(data).toMatchObject([
        { id: '=1+1', figures: { requests: 1 } },
        { id: 'nightly', figures: { requests: 1 } },
        { id: null, figures: { requests: 1 } },
      ])
      // A spreadsheet would run it as a formula.
      expect(lines).toContain("\r\n'=1+1,1,")
    }
  })

  test('by each group shows admins the cost and margin of the requests, in JSON and in CSV', async () => {
    const ids = [(await chat(own.text)).id, (await chat(other.text)).id]
    let [charge, cost] = [0, 0n]
    for (const id of ids) {
      const { json } = await admin.get(`/v1/admin/requests/${id}`)
      charge += Number(json['charge'])
      const [whole = '', places = ''] = String(json['provider_cost']).split('.')
      cost += BigInt(whole + places.padEnd(12, '0'))
    }
    const costMicros = Number((cost + 500_000n) / 1_000_000n)
    const margin = charge - costMicros
    const amounts = { charge, backed_charge: charge, free_charge: 0, written_off: 0 }
    const costs = { cost: costMicros, uncharged_cost: 0, uncosted: 0, margin }
    const dollars = (micros: number) => (micros / 1_000_000).toString()
    const figures = [charge, charge, 0, 0, costMicros, 0].map(dollars).join(',')
    for (const by of ['day', 'month', 'account', 'key', 'model', 'endpoint', 'upstream', 'tag']) {
      const report = await totalsOf(`/v1/admin/usage?by=${by}`)
      expect(report).toMatchObject({ by, totals: { requests: 2, ...amounts, ...costs } })
      const lines = (await csv(`/v1/admin/usage?by=${by}&format=csv`, ADMIN_TOKEN)).split('\r\n')
      expect(lines[0], by).toContain(
        'charge,backed_charge,free_charge,written_off,cost,uncharged_cost,uncosted,margin,',
      )
      expect(lines.at(-2), by).toContain(`,2,0,${figures},0,${dollars(margin)},`)
    }
  })

  test('is in the order that an admin asks for, in JSON and in CSV, and a column that is none is answered with all that are', async () => {
    for (const { text } of [own, own, other]) await chat(text)
    const orderOf = async (sort: string) => {
      const { data } = await totalsOf(`/v1/admin/usage?by=key&sort=${sort}`)
      const ids = Object(data).map((row: object) => Object(row).id)
      const lines = await csv(`/v1/admin/usage?by=key&sort=${sort}&format=csv`, ADMIN_TOKEN)
      const inCsv = lines.split('\r\n').slice(1, -2)
      expect(inCsv.map((line) => line.split(',')[0])).toEqual(ids)
      return ids
    }
    for (const column of ['requests', 'charged', 'cost', 'margin']) {
      expect(await orderOf(column), column).toEqual([other.id, own.id])
      expect(await orderOf(`-${column}`), column).toEqual([own.id, other.id])
    }
    const wrong = await totalsOf('/v1/admin/usage?sort=height')
    expect(Object(wrong['error']).message).toContain('`sort` must be requests, -requests, charged')
  })

  test('by key names the account of each key, for operators only, and so does its CSV', async () => {
    await chat(own.text)
    const { json } = await admin.get(`/v1/admin/accounts/${accountId}`)
    const owner = { account_id: accountId, account_name: json['name'] }
    const report = await totalsOf('/v1/admin/usage?by=key')
    expect(report['data']).toMatchObject([{ id: own.id, name: 'test', ...owner }])
    const [head, first] = (await csv('/v1/admin/usage?by=key&format=csv', ADMIN_TOKEN)).split(
      '\r\n',
    )
    expect(head).toMatch(/^key,name,account,account_name,requests,/)
    expect(first).toContain(`${own.id},test,${accountId},${json['name']},1,`)
    expect(await csv('/v1/usage?by=key', own.text, 'text/csv')).toMatch(/^key,name,requests,/)
    const keys = await totalsOf('/v1/usage?by=key', own.text)
    expect(JSON.stringify(keys)).not.toContain('account_id')
  })

  test.each(['day', 'month'])(
    'by step of a %s has a row for each of them and each group',
    async (step) => {
      await admin.close()
      const clock = noonClock()
      await start({ clock })
      await chat(own.text)
      await chat(own.text)
      await chat(other.text)
      const report = await totalsOf(`/v1/admin/usage?by=key&step=${step}`)
      const date = new Date(clock.nowMs()).toISOString().slice(0, step === 'day' ? 10 : 7)
      expect(report['data']).toMatchObject([
        { date, id: own.id, name: 'test', figures: { requests: 2 } },
        { date, id: other.id, name: 'test', figures: { requests: 1 } },
      ])
      const lines = await csv(`/v1/usage?by=model&step=${step}&format=csv`, own.text)
      expect(lines).toMatch(new RegExp(`^date,model,requests,.*\r\n${date},sim/text,2,`))
      expect(lines).toMatch(/\r\ntotal,,2,/)
      const upstream = await totalsOf(`/v1/admin/usage?by=upstream&step=${step}&model=sim/text`)
      expect(upstream['totals']).toMatchObject({ requests: 3 })
      expect(await totalsOf('/v1/admin/usage?upstream=none')).toMatchObject({
        totals: { requests: 0 },
      })
    },
  )

  const WRONG = [
    ['a step of days', 'by=day&step=month', 'step'],
    ['groups of operators', 'by=upstream', 'by'],
    ['accounts', 'by=account', 'by'],
    ['from after to', 'from=2026-03-02&to=2026-03-01', 'from'],
    ['from equal to to', 'from=2026-03-01&to=2026-03-01', 'from'],
    ['over 400 days', 'from=2025-01-01&to=2026-02-06', 'from'],
    ['an unknown zone', 'time_zone=Mars/Olympus', 'time_zone'],
    ['an unknown group', 'by=colour', 'by'],
    ['a date that is none', 'from=2026-02-30', 'from'],
    ['two of a kind', 'by=day&by=day', 'by'],
    ['a field of admins', 'account=acct_1', 'account'],
    ['an unknown format', 'format=xml', 'format'],
    ['over 400 days and an hour', 'from=2025-01-01&to=2026-02-05T01:00:01Z', 'from'],
  ] as const
  test('of a wrong range, group, step or format is refused', async () => {
    for (const [name, query, param] of WRONG) {
      const answer = await admin.get(`/v1/usage?${query}`, own.text)
      expect(answer, name).toEqual(refusal(400, 'invalid_parameter', param))
    }
  })

  test.each([
    { requests: 10_000, tagsEach: 1, httpStatus: 200 },
    { requests: 10_001, tagsEach: 1, httpStatus: 400 },
    { requests: 1_251, tagsEach: 8, httpStatus: 400 },
  ])(
    'by tag of $requests requests with $tagsEach tags each, all different, answers $httpStatus',
    async ({ requests, tagsEach, httpStatus }) => {
      const { id } = await chat(own.text)
      const tags = JSON.stringify(Array.from({ length: tagsEach }, (_, tag) => `# ${tag}`))
      await copyRequest(id, requests, { tags })
      for (const [path, token] of [['/v1/usage', own.text], ['/v1/admin/usage']] as const) {
        const answer = await admin.get(`${path}?by=tag`, token)
        expect(answer.httpStatus).toBe(httpStatus)
        if (httpStatus === 400) {
          expect(answer.json).toEqual(errorOf('invalid_parameter', 'from'))
          expect(JSON.stringify(answer.json)).toContain('Choose a shorter range')
        }
        expect((await admin.get(`${path}?by=day`, token)).httpStatus).toBe(200)
      }
    },
  )

  test('by day creates one formatter for all days', async () => {
    const made = vi.spyOn(Intl, 'DateTimeFormat')
    try {
      const { json } = await admin.get('/v1/usage?from=2025-01-01&to=2026-02-05', own.text)
      expect(column({ json } as never, 'id').length).toBe(400)
      expect(made.mock.calls.length).toBeGreaterThan(0)
      expect(made.mock.calls.length).toBeLessThan(10)
    } finally {
      made.mockRestore()
    }
  })

  test('of days begins at midnight of the time zone, with days of 23 and 25 hours', async () => {
    const days = async (from: string, to: string, zone: string) => {
      const query = `from=${from}&to=${to}&time_zone=${zone}`
      const { json } = await admin.get(`/v1/usage?${query}`, own.text)
      return [json['from'], json['to'], column({ json } as never, 'id')]
    }
    expect(await days('2026-03-28', '2026-03-31', 'Europe/Berlin')).toEqual([
      '2026-03-27T23:00:00.000Z',
      '2026-03-30T22:00:00.000Z',
      ['2026-03-28', '2026-03-29', '2026-03-30'],
    ])
    expect(await days('2026-10-25', '2026-10-26', 'Asia/Kathmandu')).toEqual([
      '2026-10-24T18:15:00.000Z',
      '2026-10-25T18:15:00.000Z',
      ['2026-10-25'],
    ])
    const { json } = await admin.get('/v1/usage?from=2025-01-01&to=2026-02-05', own.text)
    expect(column({ json } as never, 'id').length).toBe(400)
  })

  test('of a deleted key is refused to the key, and shown to admins', async () => {
    await chat(own.text)
    await admin.call({ method: 'DELETE', path: `/v1/admin/keys/${own.id}` })
    expect((await admin.get('/v1/usage', own.text)).httpStatus).toBe(401)
    expect(await totalsOf('/v1/admin/usage?by=key')).toMatchObject({
      data: [{ id: own.id, name: 'test', figures: { requests: 1 } }],
    })
    expect(await admin.get('/v1/admin/usage?key=key_unknown')).toEqual(refusal(404, 'not_found'))
  })
})

test('many reports of one account delay a report of another by at most one report', async () => {
  const stranger = await admin.apiKey(await admin.account(1_000))
  await chat(own.text)
  let answered = 0
  const reports = Array.from({ length: 200 }, async () => {
    const { httpStatus } = await admin.get('/v1/usage', own.text)
    answered++
    return httpStatus
  })
  await Promise.race(reports)
  expect((await admin.get('/v1/usage', stranger.text)).httpStatus).toBe(200)
  expect(answered).toBeLessThan(100)
  expect(await Promise.all(reports)).toEqual(new Array(200).fill(200))
})

test('a key has 6,000 calls in a minute in addition to its inference, independent of other keys', async () => {
  await admin.close()
  let nowMs = Date.now()
  await start({ clock: { nowMs: () => nowMs } })
  const { id } = await chat(own.text)
  const paths = ['/v1/key', '/v1/balance', '/v1/requests', `/v1/generation?id=${id}`]
  const call = async (path: string, httpStatus: number) =>
    expect((await admin.get(path, own.text)).httpStatus).toBe(httpStatus)
  for (const path of paths) await call(path, 200)
  // A call without its parameter counts as well, and takes the least time: 14 wait for their answers at once.
  const { hostname, port } = new URL(admin.world.url('/'))
  const head = `GET /v1/generation HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${own.text}\r\n`
  const calls = `${`${head}\r\n`.repeat(13)}${head}connection: close\r\n\r\n`
  for (let count = 2 * paths.length; count < 6_000; count += 14) {
    const socket = connect(Number(port), hostname)
    socket.write(calls)
    expect((await bytesOf(socket)).match(/HTTP\/1\.1 400 /g)).toHaveLength(14)
  }
  for (const path of paths) await call(path, 200)
  const refused = await admin.get('/v1/usage', own.text)
  expect(refused).toEqual(refusal(429, 'rate_limited'))
  expect(JSON.stringify(refused.json)).toContain('6000 calls other than inference in a minute')
  expect(refused.headers['retry-after']).toBe('60')
  expect((await admin.get('/v1/usage', other.text)).httpStatus).toBe(200)
  expect((await admin.chat(own.text)).httpStatus).toBe(200)
  await admin.world.gateway.settled()
  nowMs += 60_000
  expect((await admin.get('/v1/usage', own.text)).httpStatus).toBe(200)
})

describe('a stream', () => {
  const COMMENT = /^: x-service-usage (\{.*\})\n\ndata: \[DONE\]\n\n$/m

  test('has its charge in a comment before its end if the client asks for it', async () => {
    const { text, id } = await chat(own.text, { 'x-service-usage': 'include' }, { stream: true })
    const [, json = '{}'] = COMMENT.exec(text) ?? []
    const { charge } = (await admin.get(`/v1/requests/${id}`, own.text)).json
    expect(JSON.parse(json)).toMatchObject({
      request_id: id,
      charge,
      charge_usd: (Number(charge) / 1_000_000).toFixed(6).replace(/0+$/, ''),
    })
  })

  test('has no such comment otherwise', async () => {
    for (const headers of [{}, { 'x-service-usage': 'no' }]) {
      expect((await chat(own.text, headers, { stream: true })).text).not.toContain(
        'x-service-usage',
      )
    }
  })
})
