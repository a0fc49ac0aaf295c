import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { type CatalogSettings, DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { DEFAULT_PUBLIC_NAMES } from '../formats/testing/exchange.ts'
import { backupStore } from '../store/sqlite/backup.ts'
import { openrouter } from '../upstreams/openrouter/openrouter.ts'
import { upstreamSettings } from '../upstreams/testing/upstream-settings.ts'
import { showMicros } from '../vocabulary/money.ts'
import { type CommandLine, cells, failedWith, openCommandLine } from './testing/command-line.ts'

/** Commands on the store of a server that runs. */

let world: World
let storeFile: string
let line: CommandLine

/** Commands with these settings of the catalog. */
function lineWith(catalog: CatalogSettings): CommandLine {
  return openCommandLine({
    storeUrl: `sqlite:${storeFile}`,
    upstreams: {
      load: async () => ({
        mode: 'live',
        upstreams: [upstreamSettings({ baseUrl: world.simulator.baseUrl })],
        aliases: new Map(),
      }),
      catalog,
      loadDialect: async () => openrouter,
      publicNames: DEFAULT_PUBLIC_NAMES,
    },
  })
}

beforeEach(async () => {
  world = await startWorld({
    settings: { ADMIN_API_TOKEN: 'a-token-of-the-settings', TOLLGATE_MAINTENANCE_POLL_MS: '100' },
  })
  storeFile = join(world.folder, 'store.db')
  world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  line = lineWith(DEFAULT_CATALOG_SETTINGS)
})
afterEach(async () => {
  line.close()
  await world.close()
})

/** The id of a chat's request. */
async function chat(apiKey: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const answer = await fetch(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: 'sim/text', max_tokens: 16, messages }),
  })
  await answer.text()
  await world.gateway.settled()
  return answer.headers.get('x-request-id') ?? ''
}

test('maintenance that a command turns on and off reaches a server that runs', async () => {
  const { apiKey } = await world.account()
  const statusOfChat = async (): Promise<number> => {
    const answer = await fetch(world.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] }),
    })
    await answer.text()
    return answer.status
  }
  expect(await line.run('maintenance', 'on')).toMatchObject({ exitCode: 0 })
  await expect.poll(statusOfChat).toBe(503)
  expect(await line.run('maintenance', 'off')).toMatchObject({ exitCode: 0 })
  await expect.poll(statusOfChat).toBe(200)
})

test('a token that is created next to a server works at once, and unknown tokens do not', async () => {
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(world.url('/v1/admin/accounts'), { headers })
    await answer.text()
    return answer.status
  }
  for (let made = 0; made < 3; made++) {
    const { out } = await line.run('token', 'create', '--name', 'shop', '--scope', 'read')
    expect(await statusOf(out.trim())).toBe(200)
  }
  const unknown = Array.from({ length: 8 }, () => statusOf(`tollgate-admin-${'x'.repeat(43)}`))
  expect(new Set(await Promise.all(unknown))).toEqual(new Set([401]))
})

test('an unresolved request is settled by its cost, exactly and once', async () => {
  const { id, apiKey } = await world.account()
  world.simulator.script({ cut: { at: { afterBytes: 40 }, how: 'reset' } })
  const requestId = await chat(apiKey)
  expect(await line.json('request', 'show', requestId)).toMatchObject({ state: 'unresolved' })
  expect(await line.run('request', 'settle', requestId, '0.0020009')).toEqual(
    expect.objectContaining({
      exitCode: 0,
      out: expect.stringMatching(
        new RegExp(`^settled ${requestId}: charged \\$0\\.002101 to .+ \\(${id}\\)\n$`),
      ),
    }),
  )
  expect(await world.backedBalanceMicros(id)).toBe(10_000_000 - 2_101)
  expect(await line.run('request', 'settle', requestId, '1000000')).toMatchObject({
    exitCode: 2,
    notes: expect.stringContaining('`<dollars>` is too large'),
  })
  expect(await line.run('request', 'settle', requestId, '1')).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining('The request is final. Only an unresolved'),
  })
  expect(await world.audit()).toMatchObject({ ok: true })
})

test.each([
  [['req_0', '1'], 3, 'No request has the ID "req_0"'],
  [['req_0', 'free'], 2, '`<dollars>` must be zero or more dollars, such as 0.0123'],
] as const)('request settle %j is refused', async (args, code, said) => {
  expect(await line.run('request', 'settle', ...args)).toEqual(failedWith(code, said))
})

test('a key that a command disables runs nothing from then on, and is refused from memory after the next poll', async () => {
  const { apiKey } = await world.account()
  await chat(apiKey)
  const keyStatus = async (): Promise<number> =>
    (await fetch(world.url('/v1/key'), { headers: { 'x-api-key': apiKey } })).status
  const [{ id: keyId } = { id: '' }] = await world.gateway.store.db
    .selectFrom('api_keys')
    .select('id')
    .execute()
  const forwardedCalls = () =>
    world.simulator.requests.filter(({ isInference }) => isInference).length
  const forwarded = forwardedCalls()
  expect(await line.run('key', 'disable', keyId)).toMatchObject({ exitCode: 0 })
  // Until the reading, the ledger refuses it.
  for (let calls = 0; calls < 3; calls++) await chat(apiKey)
  await expect.poll(keyStatus).toBe(401)
  await chat(apiKey)
  expect(forwardedCalls()).toBe(forwarded)
  expect(await line.run('key', 'enable', keyId)).toMatchObject({ exitCode: 0 })
  await expect.poll(keyStatus).toBe(200)
  await chat(apiKey)
  expect(forwardedCalls()).toBeGreaterThan(forwarded)
  expect(await world.audit()).toMatchObject({ ok: true })
})

test('a backup of a store in use is a whole store with an exact ledger', async () => {
  const { apiKey } = await world.account()
  const requestId = await chat(apiKey)
  const file = join(world.folder, 'backups', 'today.db')
  expect(await line.run('backup', file)).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining(
      `tollgate: there is no folder ${join(world.folder, 'backups')}: create it first\n`,
    ),
  })
  mkdirSync(join(world.folder, 'backups'))
  const { exitCode, out, notes } = await line.run('backup', file)
  expect([exitCode, notes]).toEqual([0, `copying ${storeFile} …\n`])
  const bytes = statSync(file).size
  expect(out).toBe(`backed up to ${file}: ${bytes.toLocaleString('en')} bytes\n`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(world.folder, 'backups'))).toEqual(['today.db'])
  expect(await line.run('backup', file)).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining(`tollgate: ${file} exists already`),
  })
  await chat(apiKey)
  const copy = openCommandLine({ storeUrl: `sqlite:${file}` })
  expect(await copy.json('audit')).toMatchObject({ ok: true, checked: { requests: 1 } })
  expect(await copy.json('request', 'show', requestId)).toMatchObject({ id: requestId })
  copy.close()
})

test('a command that audits a backup and finds a difference queues no message in it', async () => {
  await world.account()
  await line.run('webhook', 'create', 'https://receiver.example/')
  const file = join(world.folder, 'today.db')
  await line.run('backup', file)
  const backup = new DatabaseSync(file)
  backup.exec('update accounts set backed_balance_micros = backed_balance_micros + 1')
  const copy = openCommandLine({ storeUrl: `sqlite:${file}` })
  expect(await copy.run('audit')).toMatchObject({ exitCode: 1 })
  copy.close()
  for (const table of ['webhook_conditions', 'webhook_deliveries']) {
    expect(backup.prepare(`select * from ${table}`).all()).toEqual([])
  }
  backup.close()
})

test('a backup never overwrites a file and never leaves half of one', async () => {
  const { db } = world.gateway.store
  const folder = join(world.folder, 'backups')
  mkdirSync(folder)
  writeFileSync(join(folder, 'there.db'), '')
  await expect(backupStore(db, { file: join(folder, 'there.db') })).rejects.toThrow(
    /exists already/,
  )
  await expect(backupStore(db, { file: join(storeFile, 'y.db') })).rejects.toMatchObject({
    name: 'StoreUnavailable',
  })
  expect(readdirSync(folder)).toEqual(['there.db'])
})

test('the catalog is listed with prices per million tokens, and refreshed', async () => {
  const refreshed = await line.run('catalog', 'refresh')
  expect(refreshed).toMatchObject({
    exitCode: 0,
    out: expect.stringMatching(/^\d+ models, \d+ rows? skipped, 0 models doubted\n$/),
    notes: 'fetching models …\n',
  })
  const models = Number(/^\d+/.exec(refreshed.out)?.[0])
  const { out } = await line.run('catalog', 'list')
  const [headings, ...rows] = cells(out)
  expect(headings).toEqual(['MODEL', 'CONTEXT', 'INPUT/M', 'OUTPUT/M', 'REFRESHED', 'OTHER PRICES'])
  expect(rows).toHaveLength(models)
  const served: { context_length: number; pricing: { prompt: string } } = JSON.parse(
    await fetch(world.url('/v1/models/sim/text')).then((answer) => answer.text()),
  )
  const text = rows.find(([id]) => id === 'sim/text')
  expect(text?.slice(1, 3)).toEqual([
    String(served.context_length),
    showMicros(Number(served.pricing.prompt) * 1e6 * 1e6),
  ])
  const listed = await line.json('catalog', 'list')
  expect(listed['data']).toContainEqual(served)
})

test("models as JSON have the prices with the operator's fee", async () => {
  await line.run('catalog', 'refresh')
  const fees = { everyModel: 1_200, models: new Map() }
  const dear = lineWith({ ...DEFAULT_CATALOG_SETTINGS, fees })
  const pricesOf = async (commands: CommandLine) => {
    const { data } = Object(await commands.json('catalog', 'list'))
    const { pricing, charged_pricing: charged } = data.find(({ id }: Model) => id === 'sim/text')
    return Number(charged.prompt) / Number(pricing.prompt)
  }
  expect([await pricesOf(line), await pricesOf(dear)]).toEqual([
    expect.closeTo(1.05),
    expect.closeTo(1.12),
  ])
  dear.close()
})

interface Model {
  readonly id: string
}

test('a refresh names each doubted model with what fell, and says what to do', async () => {
  await line.run('catalog', 'refresh')
  const { db } = world.gateway.store
  const models = await db.selectFrom('catalog_models').selectAll().execute()
  const { item_json: item = '' } = models.find(({ id }) => id === 'sim/text') ?? {}
  const [, tokens] = /"contextTokens":(\d+)/.exec(item) ?? []
  const stored = item.replace(`"contextTokens":${tokens}`, `"contextTokens":${tokens}0`)
  await db
    .updateTable('catalog_models')
    .set({ item_json: stored })
    .where('id', '=', 'sim/text')
    .execute()
  const { out, notes } = await line.run('catalog', 'refresh')
  const [before, now] = [Number(`${tokens}0`), Number(tokens)].map((n) => n.toLocaleString('en-US'))
  expect(out).toMatch(/, 1 model doubted\n/)
  expect(out).toContain(`sim/text: the context window fell from ${before} to ${now} tokens\n`)
  expect(notes).toContain('three times in a row')
  expect((await line.json('catalog', 'refresh'))['doubts']).toMatchObject([{ model: 'sim/text' }])
})

test('a failed refresh reports it and changes nothing; without a provider it is refused', async () => {
  world.simulator.script({ path: '/models', status: 500 })
  const before = await line.json('catalog', 'list')
  expect(await line.run('catalog', 'refresh')).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining(
      `the catalog could not be refreshed from openrouter at ${world.simulator.baseUrl}: `,
    ),
  })
  expect(await line.json('catalog', 'list')).toEqual(before)
  const alone = openCommandLine()
  expect(await alone.run('catalog', 'refresh')).toMatchObject({
    exitCode: 1,
    notes: expect.stringContaining('no upstream is configured'),
  })
  expect(await alone.run('catalog', 'list')).toMatchObject({
    exitCode: 0,
    out: 'no models yet: start `tollgate serve`, or run `tollgate catalog refresh`\n',
  })
  alone.close()
})
