import { beforeEach, describe, expect, test } from 'vitest'
import { OWN_LIMITS } from '../ledger/ledger.ts'
import { cells, commandLineOfEachTest, failedWith } from './testing/command-line.ts'

/** Allowances and limits, as accounts and keys are given them. */

const line = commandLineOfEachTest()
let accountId: string
let keyId: string

beforeEach(async () => {
  accountId = await line.make('account', 'create', 'Ada')
  keyId = await line.make('key', 'create', accountId)
})

const NO_LIMITS = { requests_per_minute: null, in_flight: null, tokens_per_minute: null }

const REFUSED: readonly (readonly [args: readonly string[], message: string])[] = [
  [['--allowance', '20'], '`--allowance` must be dollars and a period such as 20/day'],
  [['--allowance', '20/day/UTC'], '`--allowance` must be dollars and a period such as 20/day'],
  [['--allowance', 'all/day'], '`--allowance` must be dollars such as 10 or 0.25'],
  [['--allowance', '20/year'], '`--allowance` must be dollars and a period such as 20/day'],
  [['--allowance', '-1/day'], '`--allowance` must be zero or more'],
  [['--allowance', '20/day', '--allowance-time-zone', 'Mars/Olympus'], 'must be a time zone'],
  [['--allowance-time-zone', 'Europe/Berlin'], '`--allowance` is required'],
  [['--allowance', 'none', '--allowance-time-zone', 'UTC'], 'allowance'],
  [['--in-flight', '0'], '`--in-flight` must be at least 1'],
  [['--in-flight', '-1'], '`--in-flight` must be at least 1; to refuse all requests'],
  [['--in-flight', '1.5'], '`--in-flight` must be a whole number, at least 1'],
  [['--requests-per-minute', '1e3'], '`--requests-per-minute` must be a whole number'],
  [['--tokens-per-minute', '2000000000'], '`--tokens-per-minute` must be at most 1,000,000,000'],
]

describe.each(['account', 'key'] as const)('%s', (of) => {
  const update = (...args: string[]) =>
    line.json(of, 'update', of === 'account' ? accountId : keyId, ...args)
  const create = (...args: string[]) =>
    of === 'account'
      ? line.json('account', 'create', 'Bob', ...args)
      : line.json('key', 'create', accountId, ...args)

  test('is created with its own allowance and limits', async () => {
    const made = await create(
      ...['--allowance', '20.5/week', '--allowance-time-zone', 'Europe/Berlin'],
      ...['--in-flight', '32', '--requests-per-minute', '600', '--tokens-per-minute', '90000'],
    )
    const allowance = { amount: 20_500_000, period: 'week', time_zone: 'Europe/Berlin' }
    expect(made).toMatchObject({
      allowance: { ...allowance, spent: 0, held: 0 },
      limits: { requests_per_minute: 600, in_flight: 32, tokens_per_minute: 90_000 },
    })
    expect(await create()).toMatchObject({ allowance: null, limits: NO_LIMITS })
  })

  test('an update sets the given limits, and none removes one limit and leaves the others', async () => {
    expect(await update('--allowance', '20/day', '--in-flight', '32')).toMatchObject({
      allowance: { amount: 20_000_000, period: 'day', time_zone: 'UTC' },
      limits: { ...NO_LIMITS, in_flight: 32 },
    })
    expect(await update('--requests-per-minute', '5', '--tokens-per-minute', '7')).toMatchObject({
      allowance: { amount: 20_000_000, period: 'day' },
      limits: { requests_per_minute: 5, in_flight: 32, tokens_per_minute: 7 },
    })
    expect(await update('--in-flight', 'none', '--tokens-per-minute', 'none')).toMatchObject({
      allowance: { amount: 20_000_000, period: 'day' },
      limits: { ...NO_LIMITS, requests_per_minute: 5 },
    })
    expect(await update('--allowance', 'none')).toMatchObject({
      allowance: null,
      limits: { ...NO_LIMITS, requests_per_minute: 5 },
    })
  })

  test('a new amount or period leaves the time zone of the allowance as it is', async () => {
    await update('--allowance', '20/month', '--allowance-time-zone', 'Europe/Berlin')
    for (const [text, amount, period] of [
      ['30/month', 30_000_000, 'month'],
      ['5/day', 5_000_000, 'day'],
    ] as const) {
      const allowance = { amount, period, time_zone: 'Europe/Berlin' }
      expect(await update('--allowance', text)).toMatchObject({ allowance })
    }
    await update('--allowance', 'none')
    const first = { amount: 5_000_000, period: 'day', time_zone: 'UTC' }
    expect(await update('--allowance', '5/day')).toMatchObject({ allowance: first })
  })

  test('each limit has an option of its name, is shown, and is recorded with its value before', async () => {
    for (const { name } of OWN_LIMITS) {
      const option = `--${name.replaceAll('_', '-')}`
      expect(await update(option, '7')).toMatchObject({ limits: { ...NO_LIMITS, [name]: 7 } })
      await update(option, 'none')
      const { data } = await line.json('action', 'list', '--limit', '2')
      expect(data).toMatchObject([
        { detail: { [name]: null }, before: { [name]: 7 } },
        { detail: { [name]: 7 }, before: { [name]: null } },
      ])
    }
  })

  test('a text that is not an allowance or limit is refused, and changes nothing', async () => {
    const id = of === 'account' ? accountId : keyId
    await update('--allowance', '20/month', '--in-flight', '2')
    for (const [args, message] of REFUSED) {
      expect(await line.run(of, 'update', id, ...args)).toEqual(failedWith(2, message))
    }
    expect(await update('--name', 'same')).toMatchObject({
      allowance: { amount: 20_000_000, period: 'month', time_zone: 'UTC' },
      limits: { ...NO_LIMITS, in_flight: 2 },
    })
  })

  test('the list shows the spent part of each allowance', async () => {
    await update('--allowance', '20/day')
    const { out } = await (of === 'account'
      ? line.run('account', 'list')
      : line.run('key', 'list', accountId))
    const [head = [], row = []] = cells(out)
    expect(row[head.indexOf('ALLOWANCE')]).toBe('$0.00 of $20.00/day')
  })
})

test('key show has the limits that apply, and says which are the defaults of the gateway', async () => {
  await line.json('key', 'update', keyId, '--in-flight', '2', '--tokens-per-minute', '90000')
  const { out } = await line.run('key', 'show', keyId)
  expect(out).toContain('\nrequests per minute: 300 (default)\n')
  expect(out).toContain('\nrequests in flight: 2\n')
  expect(out).toContain('\ntokens per minute: 90000\n')
})
