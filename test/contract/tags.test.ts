import { request } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { expectError } from './expect-error.ts'
import { ROWS } from './rows.ts'

const bench = Bench.ofFile()
afterAll(() => bench.expectExactLedger())

const NINE = 'a,b,c,d,e,f,g,h,i'

describe.each(ROWS)('$endpoint', (row) => {
  test('tags are stored with the request, each once, and the provider never sees them', async () => {
    const headers = { 'x-service-tags': ' nightly, team two ,nightly,, "q"' }
    const answer = await bench.send(row, { headers })
    expect(answer.httpStatus, answer.text).toBe(200)
    expect((await bench.activity(answer))?.tags).toEqual(['nightly', 'team two', '"q"'])
    const upstream = bench.world.simulator.requests.findLast(({ isInference }) => isInference)
    expect(JSON.stringify(upstream?.headers)).not.toMatch(/tags|nightly/)
    expect(upstream?.body.toString()).not.toContain('nightly')
  })

  test('a header that is sent twice counts as one list', async () => {
    const sent = await request(bench.world.url(row.path), {
      method: 'POST',
      headers: ['x-api-key', bench.apiKey, 'x-service-tags', 'a', 'X-Service-Tags', 'b'],
      body: JSON.stringify(row.body),
    })
    await sent.body.dump()
    const requestId = String(sent.headers['x-request-id'])
    const activity = await bench.activity({
      httpStatus: sent.statusCode,
      headers: sent.headers,
      text: '',
      json: undefined,
      toldMicros: null,
      requestId,
    })
    expect(activity?.tags).toEqual(['a', 'b'])
  })

  test('a request without tags has none', async () => {
    const answer = await bench.send(row)
    expect((await bench.activity(answer))?.tags).toBeNull()
  })

  test.each([
    ['nine tags', NINE],
    ['a tag of 65 characters', 'x'.repeat(65)],
    ['a letter that is not ASCII', 'caf\u00e9'],
    ['a tab inside a tag', 'a\tb'],
  ])('%s is refused before anything is held or forwarded', async (_what, tags) => {
    const forwarded = bench.forwardedCount
    const answer = await bench.send(row, { headers: { 'x-service-tags': tags } })
    expectError(
      { bench, row, answer },
      { httpStatus: 400, code: 'invalid_parameter', param: 'x-service-tags' },
    )
    expect(bench.forwardedCount).toBe(forwarded)
    expect(await bench.activity(answer)).toBeNull()
  })

  test('a wrong key is reported first', async () => {
    const headers = { 'x-service-tags': NINE }
    const answer = await bench.send(row, { apiKey: 'sk-tollgate-wrong', headers })
    expect(answer.httpStatus).toBe(401)
  })
})

test('no log line has a tag', async () => {
  const [row] = ROWS
  if (row === undefined) throw new Error('no format is tried')
  await bench.send(row, { headers: { 'x-service-tags': 'about-a-person' } })
  await bench.send(row, { headers: { 'x-service-tags': `about-a-person,${NINE}` } })
  await bench.world.gateway.settled()
  expect(bench.world.log.join('\n')).not.toContain('about-a-person')
})
