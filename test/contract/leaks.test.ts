import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Fault } from '../../simulator/faults.ts'
import { Bench, pathUpstream } from './bench.ts'
import type { FormatRow, StreamedRow } from './format-row.ts'
import { rawAnswer } from './raw-exchange.ts'
import { FORMATS, ROWS, STREAMED_ROWS, VENDOR } from './rows.ts'

/** Stands in everything that the provider says and clients must not see. */
const MARK = 'LEAK-6d20c3f8'

let secrets: readonly string[]

const bench = Bench.ofFile()
beforeAll(() => {
  // The mark, words that the simulator puts around it, and what we know of the provider.
  const { port } = bench.world.simulator
  secrets = [MARK, '10.0.4.17', 'sk-or-v1', 'upstream-key', `127.0.0.1:${port}`]
})

const HEADERS = {
  server: MARK,
  via: MARK,
  location: `https://example.org/${MARK}`,
  'www-authenticate': MARK,
  'set-cookie': `a=${MARK}`,
  'retry-after': MARK,
  'x-request-id': MARK,
  'request-id': MARK,
  'x-ratelimit-limit': MARK,
  'openai-organization': MARK,
  'anthropic-organization-id': MARK,
}

/** Sends the request with each fault, to the gateway and to the simulator itself, which leaks. */
async function expectNoLeak(
  row: FormatRow,
  { stream, faults }: { stream: boolean; faults: readonly Fault[] },
) {
  const { simulator, gateway } = bench.world
  const body = stream ? { ...row.body, stream } : row.body
  for (const fault of faults) {
    simulator.script({
      path: pathUpstream(row),
      marker: MARK,
      headers: HEADERS,
      times: 2,
      ...fault,
    })
    const origin = new URL(simulator.baseUrl).origin
    const leaked = await rawAnswer({
      origin,
      path: `/v1${pathUpstream(row)}`,
      apiKey: 'upstream-key',
      body,
    })
    expect(leaked, JSON.stringify(fault)).toContain(MARK)
    const bytes = await rawAnswer({
      origin: gateway.address,
      path: row.path,
      apiKey: bench.apiKey,
      body,
    })
    expect(bytes, JSON.stringify(fault)).toMatch(/^HTTP\/1\.1 \d{3} /)
    for (const secret of secrets) expect(bytes, JSON.stringify(fault)).not.toContain(secret)
  }
}

const STATUSES = [201, 302, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529]
const ERROR_BODIES = ['json', 'skinless', 'html', 'empty'] as const
const KINDS = [
  'contextLength',
  'contentPolicy',
  'invalidParameter',
  'unsupportedParameter',
  'noEndpoints',
] as const

// Which text an error gets is decided by its status or by its words, and provider-error.test.ts has them all: here each status
// has one body, and each body a status of the client's and one of the provider's.
const ERRORS = [
  ...STATUSES.map((status, place) => ({
    status,
    errorBody: ERROR_BODIES[place % ERROR_BODIES.length] ?? 'json',
  })),
  ...ERROR_BODIES.flatMap((errorBody) => [400, 502].map((status) => ({ status, errorBody }))),
]
const RECOGNIZED = KINDS.flatMap((kind) =>
  (['json', 'skinless'] as const).map((errorBody) => ({ status: 400, kind, errorBody })),
)

const BODIES = [
  MARK,
  `"${MARK}"`,
  `[{"error":{"message":"${MARK}"}}]`,
  `{"error":"${MARK}"}`,
  `{"error":{"message":"${MARK}","type":"${MARK}","code":"${MARK}","param":"${MARK}"}}`,
  `{"error":{"message":"Invalid value for '${MARK}': must be one of ${MARK}"}}`,
  `{"type":"error","error":{"type":"${MARK}_error","message":"${MARK}"},"request_id":"${MARK}"}`,
  `{"error":{"message":"prompt is too long: ${MARK}"},"${MARK}":{"${MARK}":1}}`,
  `{"error":{"message":"${MARK}"}`,
]

/** The content of a 200 that is not a success. */
const FAILURES_IN_200: readonly Fault[] = [
  { answer: 'errorObject' },
  { answer: 'errorObject', errorBody: 'html' },
  { answer: 'failedAnswer' },
  ...BODIES.filter((rawBody) => rawBody !== MARK).map((rawBody) => ({ rawBody })),
]

describe.each(ROWS)('$endpoint', (row) => {
  const modes = row.streams === null ? [false] : [false, true]

  test.each(modes)('no error contains text of the provider; streamed: %s', async (stream) => {
    await expectNoLeak(row, { stream, faults: ERRORS })
  })

  test.each(modes)(
    'no recognised error contains text of the provider; streamed: %s',
    async (stream) => {
      await expectNoLeak(row, { stream, faults: RECOGNIZED })
    },
  )

  test.each(modes)(
    'no malformed error contains text of the provider; streamed: %s',
    async (stream) => {
      const contentType = { ...HEADERS, 'content-type': `application/json; note=${MARK}` }
      const faults = BODIES.flatMap((rawBody) => [
        { status: 400, rawBody },
        { status: 502, rawBody, headers: contentType },
      ])
      await expectNoLeak(row, { stream, faults })
    },
  )

  test.each(modes)(
    'no failure in a 200 contains text of the provider; streamed: %s',
    async (stream) => {
      await expectNoLeak(row, { stream, faults: FAILURES_IN_200 })
    },
  )

  test.each(modes)(
    'no header of a success contains text of the provider; streamed: %s',
    async (stream) => {
      await expectNoLeak(row, { stream, faults: [{}] })
    },
  )
})

const CODES = [400, 401, 402, 403, 404, 429, 502, 529]
// Events are split before a dialect reads them: one dialect shows it.
const OTHER_PIECES: readonly Fault[] = [
  { lineEnds: 'crlf' },
  { eventsPerWrite: 100 },
  { drip: { bytes: 7, everyMs: 0 } },
]
/** Ways in which an error event can be written, well or badly. */
const WRITINGS: readonly Fault[] = [
  {},
  { dataOnlyEvents: true },
  ...(VENDOR === undefined ? OTHER_PIECES : []),
  { rewrite: { pattern: '"type":"[a-z]+_error"', replacement: `"type":"${MARK}"` } },
  { rewrite: { pattern: '"error"', replacement: '"\\u0065rror"' } },
  { rewrite: { pattern: '"error":', replacement: '\ndata: "error":\ndata: ' } },
  { rewrite: { pattern: '^', replacement: `: ${MARK}\n` } },
  ...[false, true].flatMap((dataOnlyEvents) =>
    [
      { pattern: '"code":', replacement: '"code"' },
      { pattern: '"type":', replacement: '"type"' },
      { pattern: '"error":\\{', replacement: '"error":{{' },
      { pattern: '"message":"([^"]*)"', replacement: '"message":$1' },
    ].map((rewrite) => ({ rewrite, dataOnlyEvents })),
  ),
]

/** Bytes that a provider can write between the events of a stream, or in place of one. */
const CHANNELS = [
  `: ${MARK}\n\n`,
  `:${MARK}\n`,
  `id: ${MARK}\n`,
  `id:${MARK}\n\n`,
  `retry: ${MARK}\n`,
  `x-note: ${MARK}\n`,
  `${MARK}: 1\n`,
  `${MARK}\n\n`,
  `Data: ${MARK}\n`,
  `event: the account ${MARK}\n`,
  `event: the account ${MARK}\ndata\n\n`,
  `data: ${MARK}\n\n`,
  `data: "${MARK}"\n\n`,
  `data: ["${MARK}"]\n\n`,
  `data: [DONE] ${MARK}\n\n`,
  `data: {"message":"${MARK}"\n\n`,
  `data: {"type":"x",\ndata: "message":\ndata: "${MARK}",}\n\n`,
  `data: {"error":\ndata: {"message":"${MARK}"}}\n\n`,
  `event: error\ndata: ${MARK}\n\n`,
  `event: ${MARK}\ndata: ${MARK}\n\n`,
  `data: {"\\u0065rror":{"message":"${MARK}"}}\n\n`,
  `data: {"\\u0065\\u0072ror":"${MARK}","choices":[]}\n\n`,
  `event: ping\ndata: {"type":"\\u0065rror","message":"${MARK}"}\n\n`,
]

/** The first format whose events have names, and the first whose events have none. */
const FIRST_OF_KIND = [true, false].map((namesEvents) => {
  const ofKind = FORMATS.filter((format) => format.namesEvents === namesEvents)
  return STREAMED_ROWS.find(({ endpoint }) => ofKind.some((format) => format.endpoint === endpoint))
})

/**
 * Sends the words first and last, with other line ends, and a few bytes at a time. Lines without data are left out, and
 * events split, before a dialect reads them: one dialect shows it, in a format of each kind.
 */
function withWords(row: StreamedRow, words: string): readonly Fault[] {
  const rewrite = { pattern: '^', replacement: words }
  const ofAny: readonly Fault[] = [
    { rewrite },
    // Behind the first blank line of all, and as the last that is said.
    { rewrite: { pattern: '\\n\\n$', replacement: `\n\n${words}` } },
  ]
  if (VENDOR !== undefined || !FIRST_OF_KIND.includes(row)) return ofAny
  return [
    ...ofAny,
    { rewrite, dataOnlyEvents: true },
    { rewrite: { pattern: '^', replacement: words.replaceAll('\n', '\r') } },
    ...OTHER_PIECES.map((pieces) => ({ rewrite, ...pieces })),
  ]
}

describe.each(STREAMED_ROWS)('$endpoint, in a stream', (row) => {
  test.each(CHANNELS)('%j between events is not relayed', async (words) => {
    await expectNoLeak(row, { stream: true, faults: withWords(row, words) })
  })

  test.each(row.streams.failures)(
    'no error event of the form $fault contains text of the provider',
    async (its) => {
      const base = { ...its.fault, afterEvents: 2 }
      const faults = [
        ...CODES.map((code) => ({ errorEvent: { ...base, code } })),
        ...WRITINGS.map((writing) => ({ errorEvent: base, ...writing })),
        { errorEvent: { ...base, withUsage: true } },
        { errorEvent: { ...base, afterEvents: 0 } },
      ]
      await expectNoLeak(row, { stream: true, faults })
    },
  )
})

test('no mark is in the log or the store', async () => {
  await bench.world.gateway.settled()
  expect(bench.world.log.join('')).not.toContain(MARK)
  for (const file of readdirSync(bench.world.folder)) {
    expect(readFileSync(join(bench.world.folder, file)).includes(MARK), file).toBe(false)
  }
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
