import { describe, expect, test } from 'vitest'
import { listApiKeys } from '../../src/ledger/api-keys.ts'
import { micros, showMicros } from '../../src/vocabulary/money.ts'
import type { TestAccount } from '../world.ts'
import { Bench } from './bench.ts'
import { expectError } from './expect-error.ts'
import type { FormatRow } from './format-row.ts'
import { NAMES_COST, ROWS, VENDOR } from './rows.ts'

/** The credit of a hold must be available: if the client set no cap, the gateway lowers it; otherwise it refuses. */

const bench = Bench.ofFile()
type Body = Readonly<Record<string, unknown>>

const CAPS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const

function uncapped({ body }: FormatRow): Body {
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => !CAPS.some((cap) => cap === name)),
  )
}

function lastUpstream(): Body {
  return bench.world.simulator.requests.findLast(({ isInference }) => isInference)?.json ?? {}
}

/** The caps that went upstream. */
function sentCaps(): Body {
  return Object.fromEntries(
    Object.entries(lastUpstream()).filter(([name]) => CAPS.some((cap) => cap === name)),
  )
}

/** The hold of such a request with enough credit, and the caps that are sent upstream. */
async function whole(row: FormatRow, body: Body) {
  const answer = await bench.send(row, { body })
  expect(answer.httpStatus, answer.text).toBe(200)
  const granted = (await bench.activity(answer))?.backedGrantedMicros
  return { holdMicros: micros(granted ?? 0), caps: sentCaps() }
}

async function limitKey({ id: accountId }: TestAccount, limitMicros: number): Promise<void> {
  const { db } = bench.world.gateway.store
  const { rows: apiKeys } = await listApiKeys(db, { accountId, limit: 1 })
  await bench.world.gateway.ledger.updateApiKey({
    id: apiKeys[0]?.id ?? '',
    creditLimitMicros: micros(limitMicros),
  })
}

async function accountWithFreeCredit(freeMicros: number): Promise<TestAccount> {
  const account = await bench.world.account({ creditMicros: 0 })
  await bench.world.gateway.ledger.addCredit({
    accountId: account.id,
    purse: 'free',
    amountMicros: micros(freeMicros),
    expiresAtMs: Date.now() + 3_600_000,
    reference: 'gift',
  })
  return account
}

/** On credit of exactly the hold it runs with these caps; on a micro-dollar less it is refused. */
async function expectHeldInFull(row: FormatRow, body: Body): Promise<void> {
  const { holdMicros, caps } = await whole(row, body)
  const exact = await bench.world.account({ creditMicros: holdMicros })
  const answer = await bench.send(row, { apiKey: exact.apiKey, body })
  expect([answer.httpStatus, sentCaps()], answer.text).toEqual([200, caps])

  const forwarded = bench.forwardedCount
  const short = await bench.world.account({ creditMicros: holdMicros - 1 })
  const refused = await bench.send(row, { apiKey: short.apiKey, body })
  expectError({ bench, row, answer: refused }, { httpStatus: 402, code: 'insufficient_credit' })

  const limited = await bench.payer()
  await limitKey(limited, holdMicros - 1)
  const ofKey = await bench.send(row, { apiKey: limited.apiKey, body })
  const message = expect.stringContaining('left. Raise the limit, or use another key.')
  expectError(
    { bench, row, answer: ofKey },
    { httpStatus: 402, code: 'key_limit_reached', message },
  )
  expect(bench.forwardedCount).toBe(forwarded)
}

test.each(ROWS)(
  '$endpoint: a refusal names the needed and the available credit, and says if other requests hold the rest',
  async (row) => {
    const { holdMicros } = await whole(row, row.body)
    const dollars = (amountMicros: number): string =>
      showMicros(amountMicros).replace(/[$.]/g, '\\$&')
    const short = { httpStatus: 402, code: 'insufficient_credit' } as const
    const says = (availableMicros: number, ending: string) =>
      expect.stringMatching(
        new RegExp(
          `needs a hold of ${dollars(holdMicros)}; .* ${dollars(availableMicros)} available\\. ${ending}`,
        ),
      )

    const poor = await bench.world.account({ creditMicros: holdMicros - 1 })
    const alone = await bench.send(row, { apiKey: poor.apiKey })
    const message = says(holdMicros - 1, 'Add credit')
    expectError({ bench, row, answer: alone }, { ...short, message })

    const creditMicros = holdMicros * 2 - 1
    const { apiKey } = await bench.world.account({ creditMicros })
    const first = bench.send(row, { apiKey, fault: { hold: 'beforeHeaders' } })
    await bench.world.simulator.gate().arrived()
    const second = await bench.send(row, { apiKey })
    bench.world.simulator.gate().release()
    const held = `Other requests hold ${dollars(holdMicros)} until they are settled;`
    const beside = { ...short, message: says(holdMicros - 1, held) }
    expectError({ bench, row, answer: second }, beside)
    expect((await first).httpStatus).toBe(200)
  },
)

const OPEN = { model: 'sim/open' }
const CAPPED = ROWS.flatMap((row) => (row.hold === null ? [] : [{ ...row, hold: row.hold }]))
const LOWERED = CAPPED.filter(({ hold }) => hold.isLowered)
const KEPT = CAPPED.filter(({ hold }) => !hold.isLowered)

test.each(ROWS)('$endpoint: a request is held in full, to the micro-dollar', (row) =>
  expectHeldInFull(row, row.body),
)

describe.each(LOWERED)('$endpoint', (row) => {
  test.each([
    ['available credit', (half: number) => bench.world.account({ creditMicros: half })],
    [
      "its key's limit",
      async (half: number) => {
        const account = await bench.payer()
        await limitKey(account, half)
        return account
      },
    ],
  ])('without a cap it runs on half its hold, with a cap that fits %s', async (_, withHalf) => {
    const body = uncapped(row)
    const { holdMicros, caps } = await whole(row, body)
    expect(Object.keys(caps)).toHaveLength(1)
    const half = Math.floor(holdMicros / 2)
    const { apiKey } = await withHalf(half)
    const answer = await bench.send(row, { apiKey, body })
    expect(answer.httpStatus, answer.text).toBe(200)
    const [[name, cap] = ['', 0]] = Object.entries(caps)
    const lowered = Number(sentCaps()[name])
    expect(lowered).toBeGreaterThanOrEqual(16)
    expect(lowered).toBeLessThan(Number(cap))
    expect((await bench.activity(answer))?.backedGrantedMicros).toBeLessThanOrEqual(half)
  })

  test('without a cap it is refused if not even sixteen tokens fit', async () => {
    const { apiKey } = await bench.world.account({ creditMicros: 1 })
    const answer = await bench.send(row, { apiKey, body: uncapped(row) })
    expectError({ bench, row, answer }, { httpStatus: 402, code: 'insufficient_credit' })
  })

  const body = { ...uncapped(row), tools: [{ type: 'web_search' }] }
  if (NAMES_COST) {
    test('with tools that the provider runs it must fit whole, also without a cap', () =>
      expectHeldInFull(row, body))
  } else {
    test('tools that the provider runs are refused, because nothing counts them', async () => {
      const answer = await bench.send(row, { body })
      const expected = { httpStatus: 400, code: 'unsupported_parameter', param: 'tools' }
      expectError({ bench, row, answer }, expected)
    })
  }
})

describe.each(KEPT)('$endpoint', (row) => {
  // Messages of a vendor itself must have one.
  const testUncapped = NAMES_COST || row.family !== 'messages' ? test : null
  // Servers of a person's own may write more than the longest answer that is held, unless it is sent.
  const isSent = VENDOR === 'openai-compatible' && row.family === 'openai'
  testUncapped?.(
    `without a cap the whole maximum of the model is held, and ${isSent ? 'it' : 'no cap'} is sent`,
    async () => {
      const { caps } = await whole(row, uncapped(row))
      expect(Object.keys(caps)).toEqual(isSent ? [row.hold.capParam] : [])
      await expectHeldInFull(row, uncapped(row))
    },
  )

  test('without a cap a model that lists no maximum needs one', async () => {
    const body = { ...uncapped(row), model: 'sim/uncapped' }
    const answer = await bench.send(row, { body })
    const param = row.hold.capParam
    expectError({ bench, row, answer }, { httpStatus: 400, code: 'output_cap_required', param })
  })
})

describe.each([...LOWERED, ...KEPT])('$endpoint, refused for its own cap', (row) => {
  const param = row.hold.capParam
  const withCap = (capTokens: number) => ({ ...uncapped(row), [param]: capTokens })

  test.each([
    [
      'the credit',
      'insufficient_credit',
      (micros: number) => bench.world.account({ creditMicros: micros }),
    ],
    [
      "the key's limit",
      'key_limit_reached',
      async (limitMicros: number) => {
        const account = await bench.payer()
        await limitKey(account, limitMicros)
        return account
      },
    ],
  ] as const)('the message has the largest cap that fits %s', async (_, code, withMicros) => {
    const { holdMicros } = await whole(row, withCap(900))
    const { holdMicros: ofLess } = await whole(row, withCap(300))
    const between = Math.floor((holdMicros + ofLess) / 2)
    const answer = await bench.send(row, {
      apiKey: (await withMicros(between)).apiKey,
      body: withCap(900),
    })
    const message = expect.stringMatching(
      new RegExp(` With \`${param}\` of at most \\d+ it fits\\.$`),
    )
    expectError({ bench, row, answer }, { httpStatus: 402, code, message })
    const capTokens = Number(/of at most (\d+) it/.exec(answer.text)?.[1])
    const { apiKey } = await withMicros(between)
    const oneMore = await bench.send(row, { apiKey, body: withCap(capTokens + 1) })
    expect(oneMore.httpStatus, oneMore.text).toBe(402)
    const fitting = await bench.send(row, { apiKey, body: withCap(capTokens) })
    expect(fitting.httpStatus, fitting.text).toBe(200)
  })

  test('a refusal suggests no cap if none fits', async () => {
    const { apiKey } = await bench.world.account({ creditMicros: 1 })
    const answer = await bench.send(row, { apiKey, body: withCap(900) })
    expect(answer.httpStatus, answer.text).toBe(402)
    expect(answer.text).not.toContain('it fits')
  })

  test('without credit, a model that costs nothing does not run either, and no cap is named', async () => {
    const { apiKey } = await bench.world.account({ creditMicros: 0 })
    const body = { ...withCap(900), model: 'sim/open:free' }
    const answer = await bench.send(row, { apiKey, body })
    expect(answer.httpStatus, answer.text).toBe(402)
    expect(answer.text).toContain(
      'This request needs no hold, but some credit must be available; the account has $0.00 available. Add credit.',
    )
    expect(answer.text).not.toContain('it fits')
  })
})

describe.each([...LOWERED, ...KEPT])('$endpoint, on free credit alone', (row) => {
  const body = { ...row.body, ...OPEN }

  test('a model with open weights is paid from it', async () => {
    const { apiKey } = await accountWithFreeCredit(5_000_000)
    const answer = await bench.send(row, { apiKey, body })
    expect(answer.httpStatus, answer.text).toBe(200)
    expect(await bench.activity(answer)).toMatchObject({
      backedGrantedMicros: 0,
      backedChargeMicros: 0,
      freeChargeMicros: answer.toldMicros,
      writtenOffMicros: 0,
    })
  })

  const runsOnLess = row.hold.runsOnPartOfFreeCredit
  test(`less than the hold ${runsOnLess ? 'is run on' : 'does not do'}`, async () => {
    const { holdMicros, caps } = await whole(row, body)
    const { apiKey } = await accountWithFreeCredit(holdMicros - 1)
    const answer = await bench.send(row, { apiKey, body })
    if (runsOnLess) {
      expect([answer.httpStatus, sentCaps()], answer.text).toEqual([200, caps])
      expect((await bench.activity(answer))?.freeGrantedMicros).toBe(holdMicros - 1)
    } else expectError({ bench, row, answer }, { httpStatus: 402, code: 'insufficient_credit' })
  })
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
