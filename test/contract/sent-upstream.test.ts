import { describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import type { FormatRow } from './format-row.ts'
import { NAMES_COST, ROWS, VENDOR } from './rows.ts'

const bench = Bench.ofFile()

function lastUpstream() {
  const upstream = bench.world.simulator.requests.findLast(({ isInference }) => isInference)
  if (upstream === undefined) throw new Error('nothing was sent upstream')
  return upstream
}

/** The row's request as text, with another model and some fields before it. */
function bodyText(row: FormatRow, { model, before = '' }: { model: string; before?: string }) {
  const { model: own, ...rest } = row.body
  expect(own).not.toBe(model)
  return `{ ${before}"model" : ${JSON.stringify(model)} ,${JSON.stringify(rest).slice(1)}`
}

describe.each(ROWS)('$endpoint', (row) => {
  const ownModel = JSON.stringify(row.body.model)

  // Changes by other dialects have their own tests.
  const testBytes = NAMES_COST ? test : null
  testBytes?.('a body arrives upstream byte for byte, but for the model and the user', async () => {
    const sent = bodyText(row, {
      model: `${row.body.model.toUpperCase()}[1m]`,
      before:
        '"x_unknown":{"b":1e2,"a":[ ],"caf\\u00e9":"\u00e9"},"seed":12345678901234567890, "temperature" : 1.0,\n\t',
    })
    const answer = await bench.send(row, { body: sent })
    expect(answer.httpStatus, answer.text).toBe(200)
    const received = lastUpstream().body.toString()
    const user = /"user":("[^"]+")/.exec(received)?.[1] ?? ''
    expect(user.includes('someone')).toBe(!row.replacesUser)
    expect(received).toBe(
      sent
        .replace('"someone@example.org"', user)
        .replace(ownModel.toUpperCase().replace(/"$/, '[1m]"'), ownModel),
    )
  })

  test('the account tag is the same for every key of an account, and reveals nothing of the account', async () => {
    const other = await bench.payer()
    const tags: unknown[] = []
    for (const key of [bench.apiKey, bench.apiKey, other.apiKey]) {
      await bench.send(row, { apiKey: key })
      tags.push(lastUpstream().json?.['user'])
    }
    const [first, second, third] = tags
    expect(second).toBe(first)
    if (row.replacesUser) expect(third).not.toBe(first)
    expect(JSON.stringify(tags)).not.toContain(other.id)
  })

  test('of its headers, only the headers of its own format are sent upstream', async () => {
    const own = { 'compat-version': '2026-01-01', 'compat-beta': 'a-1,b-2', 'anthropic-beta': 'c' }
    const others = { 'x-forwarded-for': '10.0.0.1', cookie: 'a=b', 'openai-organization': 'org' }
    await bench.send(row, { headers: { ...own, ...others } })
    const { headers } = lastUpstream()
    const sentOwn = Object.keys(own).filter((name) => headers[name] !== undefined)
    expect(sentOwn).toEqual(row.hasOwnHeaders ? Object.keys(own) : [])
    if (row.hasOwnHeaders) expect(headers).toMatchObject(own)
    expect(Object.keys(others).filter((name) => headers[name] !== undefined)).toEqual([])
    const ownKey = VENDOR === 'anthropic' ? headers['x-api-key'] : headers.authorization
    expect(ownKey).toBe(VENDOR === 'anthropic' ? 'upstream-key' : 'Bearer upstream-key')
    expect(JSON.stringify(headers)).not.toContain(bench.apiKey)
  })

  test.each([
    [200, false],
    [200, true],
    [429, false],
  ])('of the headers of a %i, only its own come back; streamed: %s', async (status, stream) => {
    const own = { 'compat-ratelimit-requests-remaining': '7', 'x-should-retry': 'true' }
    const others = { 'x-ratelimit-limit': '5', 'set-cookie': 'a=b', 'x-served-by': 'edge-4' }
    const fault = { ...(status === 200 ? {} : { status }), headers: { ...own, ...others } }
    const { headers, httpStatus } = await bench.send(row, {
      fault,
      stream: stream && row.streams !== null,
    })
    expect(httpStatus).toBe(status)
    const returnedOwn = Object.keys(own).filter((name) => headers[name] !== undefined)
    expect(returnedOwn).toEqual(row.hasOwnHeaders ? Object.keys(own) : [])
    if (row.hasOwnHeaders) expect(headers).toMatchObject(own)
    expect(Object.keys(others).filter((name) => headers[name] !== undefined)).toEqual([])
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
