import { randomFillSync } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { createLedger } from '../ledger/engines/create-ledger.ts'
import { FACTS, holdInput } from '../ledger/testing/script.ts'
import { openStore } from '../store/open-store.ts'
import { systemClock } from '../vocabulary/clock.ts'
import { createIdSource } from '../vocabulary/ids.ts'
import {
  cells,
  commandLineOfEachTest,
  failed,
  failedWith,
  openCommandLine,
  printed,
} from './testing/command-line.ts'

const line = commandLineOfEachTest()

/** Two requests of a new account, as `serve` would have left them: one open, one that failed. */
async function makeRequests(): Promise<{ readonly account: string; readonly requests: string[] }> {
  const account = await line.make('account', 'create', 'Ada')
  await line.run('credit', 'add', account, '10', '--reference', 'r')
  const apiKeyId = await line.make('key', 'create', account)
  const ids = createIdSource({ clock: systemClock, fillRandom: (bytes) => randomFillSync(bytes) })
  const store = await openStore({ url: line.storeUrl, clock: systemClock })
  const ledger = createLedger({ location: store.location, clock: systemClock })
  // IDs of one millisecond have no defined order.
  const requests = [ids.next('req'), ids.next('req')].sort()
  for (const [index, requestId] of requests.entries()) {
    await ledger.openHold(
      holdInput(requestId, {
        accountId: account,
        apiKeyId,
        modelId: index === 0 ? 'acme/first' : 'acme/second',
        amountMicros: 1_234,
        tags: index === 0 ? ['nightly', 'team two'] : null,
      }),
    )
  }
  await ledger.settle({
    requestId: requests[1] ?? '',
    resolution: { kind: 'released' },
    facts: { ...FACTS, httpStatus: 502, errorCode: 'upstream_error' },
  })
  await ledger.close()
  await store.close()
  return { account, requests }
}

describe('request', () => {
  test('list is empty before the first', async () => {
    expect(await line.run('request', 'list')).toEqual(printed('no requests match\n'))
  })

  test('list shows the newest first, with hold and charge', async () => {
    const { requests } = await makeRequests()
    const { out } = await line.run('request', 'list')
    expect(cells(out)).toEqual([
      ['ID', 'OPENED', 'ENDPOINT', 'MODEL', 'STATUS', 'STATE', 'HOLD', 'CHARGE'],
      [
        requests[1],
        expect.any(String),
        'chat',
        'acme/second',
        '502',
        'released',
        '$0.001234',
        '$0.00',
      ],
      [requests[0], expect.any(String), 'chat', 'acme/first', '-', 'open', '$0.001234', '$0.00'],
    ])
  })

  test.each<[string, (account: string) => string[], number[]]>([
    ['state', () => ['--state', 'open'], [0]],
    ['model', () => ['--model', 'acme/second'], [1]],
    ['tag', () => ['--tag', 'team two'], [0]],
    ['a part of a tag', () => ['--tag', 'team'], []],
    ['account', (account) => ['--account', account], [1, 0]],
    ['another account', () => ['--account', 'acct_0'], []],
    ['another key', () => ['--key', 'key_0'], []],
    ['number', () => ['--limit', '1'], [1]],
    ['a time after all', () => ['--since', '2999-01-31'], []],
    ['a time before all', () => ['--since', '2020-01-31'], [1, 0]],
    ['an end before all', () => ['--until', '2020-01-31T12:00:00+01:00'], []],
    ['an end after all', () => ['--until', '2999-01-31'], [1, 0]],
  ])('list by %s', async (_, args, expected) => {
    const { account, requests } = await makeRequests()
    const { data } = await line.json('request', 'list', ...args(account))
    const found = Array.isArray(data) ? data.map(({ id }) => requests.indexOf(id)) : null
    expect(found).toEqual(expected)
  })

  test('show prints every field', async () => {
    const { requests } = await makeRequests()
    const { out } = await line.run('request', 'show', String(requests[0]))
    expect(cells(out)).toEqual(
      expect.arrayContaining([
        ['FIELD', 'VALUE'],
        ['id', requests[0]],
        ['state', 'open'],
        ['hold', '$0.001234'],
        ['http_status', '-'],
        ['tags', 'nightly, team two'],
      ]),
    )
    const released = await line.run('request', 'show', String(requests[1]))
    expect(cells(released.out)).toEqual(
      expect.arrayContaining([
        ['margin', '$0.00'],
        ['fee_basis_points', '500 (5%)'],
      ]),
    )
    expect(await line.json('request', 'show', String(requests[1]))).toMatchObject({
      id: requests[1],
      object: 'request',
      state: 'released',
      http_status: 502,
      error_code: 'upstream_error',
      hold: 1_234,
      held: 0,
      charge: 0,
    })
  })

  test('show of an unknown id fails', async () => {
    expect(await line.run('request', 'show', 'req_0')).toEqual(
      failed(
        3,
        'tollgate: No request has the ID "req_0". `tollgate request list` shows the IDs.\n',
      ),
    )
  })
})

describe('audit', () => {
  test('of an exact ledger reports that, and names the newest request, which reveals an old copy', async () => {
    const { requests } = await makeRequests()
    const newest = requests[1] ?? ''
    const { opened_at } = await line.json('request', 'show', newest)
    expect(await line.run('audit')).toEqual({
      exitCode: 0,
      out:
        'exact: 1 account, 1 key, 2 requests, 1 entry, 0 credit codes, 0 purchases\n' +
        `newest request: ${newest}, ${String(opened_at).replace(/\.\d+Z$/, 'Z')}\n`,
      notes: '',
    })
    expect(await line.json('audit')).toMatchObject({
      object: 'audit',
      ok: true,
      newest_request: { id: newest, opened_at },
      differences: [],
    })
  })

  test('of a store without requests says that there is none', async () => {
    await line.run('account', 'create', 'Ada')
    expect((await line.run('audit')).out).toBe(
      'exact: 1 account, 0 keys, 0 requests, 0 entries, 0 credit codes, 0 purchases\nnewest request: none\n',
    )
    expect(await line.json('audit')).toMatchObject({ newest_request: null })
  })

  test('of a store without an account says that it is empty', async () => {
    await (await openStore({ url: line.storeUrl })).close()
    const { exitCode, out } = await line.run('audit')
    expect([exitCode, out]).toEqual([
      0,
      expect.stringMatching(/^empty store: it has no accounts\./),
    ])
  })

  test('of a ledger that is off by a micro-dollar fails, and shows the figure in dollars, in JSON in micro-dollars', async () => {
    const { account } = await makeRequests()
    const store = new DatabaseSync(line.storeUrl.replace('sqlite:', ''))
    store.exec('update accounts set backed_balance_micros = backed_balance_micros + 1')
    store.close()
    const { exitCode, out, notes } = await line.run('audit')
    expect([exitCode, notes]).toEqual([1, 'tollgate: 1 figure differs\n'])
    expect(cells(out)).toEqual([
      ['FIGURE', 'ID', 'STORED', 'RECOMPUTED'],
      ['accounts.backed_balance', account, '$10.000001', '$10.00'],
    ])
    const asJson = await line.run('audit', '--json')
    expect(asJson.exitCode).toBe(1)
    expect(JSON.parse(asJson.out)).toMatchObject({
      ok: false,
      differences: [
        {
          what: 'accounts.backed_balance_micros',
          id: account,
          stored: 10_000_001,
          recomputed: 10_000_000,
        },
      ],
    })
  })
})

test('each turn of maintenance is in the audit log under the name of the command line', async () => {
  expect(await line.json('maintenance', 'on')).toMatchObject({ enabled: true })
  expect(await line.json('maintenance', 'show')).toMatchObject({ enabled: true })
  expect(await line.json('maintenance', 'off')).toMatchObject({ enabled: false })
  const setMaintenance = { action: 'setMaintenance', token_name: 'command line' }
  expect((await line.json('action', 'list'))['data']).toMatchObject([
    { ...setMaintenance, detail: { enabled: false } },
    { ...setMaintenance, detail: { enabled: true } },
  ])
})

describe('usage', () => {
  test('has at least twelve letters of the names of keys on a terminal of 80 columns', async () => {
    const { account } = await makeRequests()
    await line.run('key', 'create', account, '--name', 'unused')
    const { storeUrl } = line
    const terminal = openCommandLine({ storeUrl }, { operations: [], commands: [], columnsMax: 80 })
    const { out } = await terminal.run('usage', '--by', 'key')
    terminal.close()
    expect(out).toMatch(/^key_\w{26} default /m)
    expect(Math.max(...out.split('\n').map((text) => text.length))).toBeLessThanOrEqual(80)
  })

  test('shows the sums of requests by group, with a total line, and as FOCUS', async () => {
    await makeRequests()
    const { out } = await line.run('usage', '--by', 'tag')
    expect(cells(out)).toEqual([
      ['TAG', 'REQUESTS', 'FAILED', 'INPUT', 'OUTPUT', 'SPEND', 'COST', 'MARGIN'],
      ['nightly', '1', '0', '0', '0', '$0.00', '$0.00', '$0.00'],
      ['team two', '1', '0', '0', '0', '$0.00', '$0.00', '$0.00'],
      ['without tags, or pruned', '1', '1', '0', '0', '$0.00', '$0.00', '$0.00'],
      ['total', '2', '1', '0', '0', '$0.00', '$0.00', '$0.00'],
    ])
    expect(await line.json('usage', '--by', 'model')).toMatchObject({ totals: { requests: 2 } })
    const wrong = await line.run('usage', '--sort', 'height')
    expect([wrong.exitCode, wrong.notes]).toEqual([
      2,
      expect.stringMatching(/`--sort` must be .*-margin/),
    ])
    expect((await line.run('usage', '--by', 'model', '--sort', '-margin')).exitCode).toBe(0)
    const csv = await line.run('usage', '--by', 'model', '--csv')
    expect(csv.out).toMatch(/^model,requests,.*\r\n[\s\S]*total,2,1,0,/)
    const refused = await line.run('usage', '--format', 'focus', '--by', 'account')
    expect(refused.notes).toContain('`--by` must be day or month with `--format focus`')
    const focus = await line.run('usage', '--format', 'focus')
    expect(focus.out).toMatch(/^BilledCost,BillingAccountId,.*\r\n0,acct_/)
  })

  test('by day begins with the first day that has requests; JSON and CSV have every day', async () => {
    const none = await line.run('usage')
    expect(cells(none.out).map(([day]) => day)).toEqual(['DAY', 'total'])
    await makeRequests()
    const { out } = await line.run('usage', '--since', '7d')
    const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    expect(cells(out).map(([first, requests]) => [first, requests])).toEqual([
      ['DAY', 'REQUESTS'],
      [day, '2'],
      ['total', '2'],
    ])
    const { data } = await line.json('usage', '--since', '7d')
    expect((data as readonly object[]).length).toBeGreaterThan(6)
    const csv = await line.run('usage', '--since', '7d', '--csv')
    expect(csv.out.split('\r\n').length).toBeGreaterThan(8)
  })

  test('refuses dates in the wrong order by the names of its options', async () => {
    expect(await line.run('usage', '--since', '2026-03-02', '--until', '2026-03-01')).toEqual(
      failedWith(2, '`--since` must be before `--until`'),
    )
  })
})

describe('account statement', () => {
  test('shows the requests of each day and every top-up, between the balances', async () => {
    const { account } = await makeRequests()
    const { out } = await line.run('account', 'statement', account)
    const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    expect(cells(out)).toEqual([
      ['DATE', 'KIND', 'DETAILS', 'AMOUNT', 'BALANCE'],
      ['', 'closing', '$10.00'],
      [day, 'charge', '2 requests', '$0.00', '$10.00'],
      [day, 'top-up', 'r', '$10.00', '$10.00'],
      ['', 'opening', '$0.00'],
    ])
    const csv = await line.run('account', 'statement', account, '--csv')
    expect(csv.out).toMatch(/^date,kind,count,amount,balance,[\s\S]*,charge,2,0,10,/)
  })
})
