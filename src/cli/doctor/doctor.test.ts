import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../../simulator/simulator.ts'
import { CLIENT, startProvider } from '../../../test/page/oidc-provider.ts'
import { DEFAULT_CATALOG_SETTINGS } from '../../catalog/catalog.ts'
import { DEFAULT_PUBLIC_NAMES } from '../../formats/testing/exchange.ts'
import { startMailbox } from '../../mail/testing/mailbox.ts'
import { openOidc } from '../../people/outside/outside-client.ts'
import type { OutsideProvider } from '../../people/outside/outside-door.ts'
import { openStore } from '../../store/open-store.ts'
import { writeSetting } from '../../store/settings.ts'
import { loadDialect } from '../../upstreams/dialects.ts'
import { upstreamSettings } from '../../upstreams/testing/upstream-settings.ts'
import type { UpstreamSettings } from '../../upstreams/upstream-settings.ts'
import { listen } from '../../vocabulary/testing/listen.ts'
import type { CommandSettings } from '../command-context.ts'
import { type CommandLine, openCommandLine } from '../testing/command-line.ts'
import { durationText } from './connection-checks.ts'
import { clockFinding, diskFinding } from './doctor.ts'

let simulator: Simulator
let line: CommandLine | null
let server: Server | null

beforeEach(async () => {
  simulator = await startSimulator()
  line = null
  server = null
})
afterEach(async () => {
  line?.close()
  server?.close()
  await simulator.close()
})

function open(settings: Partial<CommandSettings> = {}): CommandLine {
  line = openCommandLine(settings)
  return line
}

/** Settings with the simulator as a real provider. */
function live(
  more: Partial<Pick<UpstreamSettings, 'apiKey' | 'baseUrl' | 'dialect'>> = {},
): Partial<CommandSettings> {
  return {
    upstreams: {
      load: async () => ({
        mode: 'live',
        upstreams: [upstreamSettings({ name: 'main', baseUrl: simulator.baseUrl, ...more })],
        aliases: new Map(),
      }),
      catalog: DEFAULT_CATALOG_SETTINGS,
      loadDialect,
      publicNames: DEFAULT_PUBLIC_NAMES,
    },
  }
}

/** A server that answers `/readyz` with these checks. */
async function serveReadiness(checks: readonly object[]): Promise<string> {
  server = createServer((_request, response) => {
    response.end(JSON.stringify({ object: 'readiness', ready: false, checks }))
  })
  const port = await listen(server)
  return `http://127.0.0.1:${port}`
}

async function findings(opened: CommandLine): Promise<Record<string, unknown>> {
  const { checks } = JSON.parse((await opened.run('doctor', '--json')).out)
  return Object.fromEntries(
    checks.map(({ check, state, message }: Record<string, string>) => [
      check,
      `${state}: ${message}`,
    ]),
  )
}

test('a gateway with nothing wrong passes every check', async () => {
  const serverUrl = await serveReadiness([{ name: 'store', ok: true, message: null }])
  const opened = open({ ...live(), serverUrl })
  await opened.run('catalog', 'refresh')
  const { exitCode, out, notes } = await opened.run('doctor')
  expect([exitCode, notes]).toEqual([0, ''])
  expect(out).toMatch(/^STATE +CHECK +RESULT\nok +version +tollgate 1\.2\.3 on Node \d/)
  expect(out).not.toMatch(/^(warning|failed)/m)
  expect(out).toMatch(/^ok +upstream main +answers, and offers \d+ models/m)
  expect(out).toMatch(/^ok +prices of main +\d+ models, read \d+ s ago$/m)
})

test('settings that cannot be used are named in one line, and nothing else is checked', async () => {
  const opened = open({
    upstreams: {
      ...(live().upstreams as NonNullable<CommandSettings['upstreams']>),
      load: async () => {
        throw new Error('the file cannot be used:\n  - line 1\n  - line 2')
      },
    },
  })
  const { exitCode, out } = await opened.run('doctor')
  expect(exitCode).toBe(1)
  expect(out).toMatch(/^failed +settings +the file cannot be used: line 1; line 2$/m)
  expect(out).not.toMatch(/store|server/)
})

test('a server that does not answer is a warning, and each failing check of one that answers fails', async () => {
  const away = open()
  expect(await findings(away)).toMatchObject({
    server: expect.stringMatching(
      /^warning: no server answers at http:\/\/127\.0\.0\.1:9: start it/,
    ),
  })
  away.close()
  const serverUrl = await serveReadiness([
    { name: 'store', ok: false, message: 'The disk is full.' },
    { name: 'proxies', ok: true, message: 'A proxy is not named.' },
  ])
  const found = await findings(open({ serverUrl }))
  expect(found['server store']).toBe('failed: The disk is full.')
  expect(found['server proxies']).toBe('warning: A proxy is not named.')
  expect(found['server']).toBeUndefined()
})

test('an upstream that refuses the key fails with the reason and the key to check, and prices never read are a warning', async () => {
  const opened = open(live({ apiKey: 'sk-bad' }))
  expect((await opened.run('doctor')).exitCode).toBe(1)
  expect(await findings(opened)).toMatchObject({
    'upstream main': expect.stringMatching(
      /^failed: the upstream answers 401: it does not know the API key: check its key in [A-Z_]+$/,
    ),
    'prices of main': 'warning: never read: start the server, or run `tollgate catalog refresh`',
  })
})

test('an upstream without credit fails with that, and one that can’t be reached with its address and the network', async () => {
  const opened = open(live())
  simulator.script({ path: '/key', status: 402 })
  expect((await findings(opened))['upstream main']).toBe(
    "failed: the upstream answers 402: the provider's account has no credit left: add credit there",
  )
  const { 'upstream main': away } = await findings(open(live({ baseUrl: 'http://127.0.0.1:9/v1' })))
  expect(away).toMatch(
    /ECONNREFUSED.*: check its address http:\/\/127\.0\.0\.1:9\/v1 and the network/,
  )
  expect(away).not.toMatch(/key|credit/)
})

test('an upstream without prices whose address and key work gets the lines to add', async () => {
  const { 'upstream main': found } = await findings(open(live({ dialect: 'openai-compatible' })))
  expect(found).toMatch(/^failed: the upstream lists \d+ models and no prices\. Write the models /)
  expect(found).not.toContain('check its address')
})

test('a sign-in provider that answers is shown with the return address to register, and one that does not fails', async () => {
  const provider = await startProvider()
  provider.allow('http://localhost:8787')
  const oidc = (issuer: string): OutsideProvider => ({
    id: 'oidc',
    name: 'Example ID',
    open: async () =>
      openOidc({
        issuer,
        clientId: CLIENT.id,
        clientSecret: CLIENT.secret,
        clientAuth: 'post',
        asksWhichAccount: false,
        timeoutMs: 60_000,
      }),
  })
  const reached = open({ outside: [oidc(provider.issuer)] })
  expect((await findings(reached))['sign-in oidc']).toBe(
    `ok: people sign in at ${new URL(provider.issuer).origin}; http://localhost:8787/app/sign-in-return/oidc must be registered there as the return address`,
  )
  reached.close()
  await provider.close()
  const away = await findings(open({ outside: [oidc(provider.issuer)] }))
  expect(away['sign-in oidc']).toMatch(
    /^failed: Example ID does not answer \(fetch failed; \w+\): check its address/,
  )
})

test('a missing store fails, and the checks that need no store still run', async () => {
  const found = await findings(open({ storeUrl: 'sqlite:/nowhere/tollgate.db' }))
  expect(found['store']).toMatch(
    /^failed: there is no store at \/nowhere\/tollgate\.db: go to the folder/,
  )
  expect(found['upstream']).toMatch(/^ok: none is configured/)
})

test('a store whose credit is of the other kind of money fails, as it does at the start of a server', async () => {
  const opened = open(live())
  await opened.run('account', 'create', 'Ada')
  const store = await openStore({ url: opened.storeUrl })
  await writeSetting(store.db, { name: 'upstream', value: 'simulator' })
  expect((await findings(opened))['upstream of the store']).toMatch(
    /^failed: the store has the simulator's play money, which must not buy from http\S+: set DATABASE_URL/,
  )
  await writeSetting(store.db, { name: 'upstream', value: 'https://up.example/v1' })
  expect(await findings(opened)).not.toHaveProperty(['upstream of the store'])
  const played = open({ storeUrl: opened.storeUrl })
  expect((await findings(played))['upstream of the store']).toMatch(
    /^failed: the store has real credit, of the upstream https:\/\/up\.example\/v1, and no upstream/,
  )
  opened.close()
  await store.close()
})

test('a restored SQLite store, with the heartbeat of the server before, is used by one server', async () => {
  const opened = open()
  await opened.run('account', 'create', 'Ada')
  const store = await openStore({ url: opened.storeUrl })
  const at = Date.now()
  for (const id of ['inst_before', 'inst_now']) {
    const row = { id, started_at_ms: at, heartbeat_at_ms: at, program_schema: 1 }
    await store.db.insertInto('instances').values(row).execute()
  }
  await store.close()
  expect((await findings(opened))['store']).toMatch(/^ok: .*; 1 running server uses it$/)
})

test('maintenance, a disabled webhook and an undelivered message are warnings with their command', async () => {
  const opened = open()
  const made = async () =>
    String((await opened.json('webhook', 'create', 'https://example.org/a'))['id'])
  const [disabled, waiting] = [await made(), await made()]
  await opened.run('webhook', 'disable', disabled)
  await opened.run('webhook', 'test', waiting)
  const store = await openStore({ url: opened.storeUrl })
  await writeSetting(store.db, { name: 'maintenance', value: 'on' })
  await store.db.updateTable('webhook_deliveries').set({ attempts: 2, http_status: 500 }).execute()
  await store.close()
  const found = await findings(opened)
  expect(found['maintenance']).toMatch(/^warning: on: .*`tollgate maintenance off`/)
  expect(found[`webhook ${disabled}`]).toMatch(/^warning: .* is disabled: `tollgate webhook enable/)
  expect(found[`webhook ${waiting}`]).toMatch(/^warning: .*\(it answered 500\): `tollgate webhook/)
  const { exitCode, out } = await opened.run('doctor')
  expect([exitCode, out]).toEqual([0, expect.stringMatching(/^warning +webhook +https:/m)])
})

test.each([
  [50_000_000, 1, 'failed'],
  [900_000_000, 1, 'warning'],
  [5_000_000_000, 6_000_000_000, 'warning'],
  [5_000_000_000, 1_000_000_000, 'ok'],
])('%d bytes free for a store of %d: %s', (freeBytes, storeBytes, state) => {
  expect(diskFinding({ freeBytes, storeBytes }).state).toBe(state)
})

test('the mail server is asked without an email, and one that is away or refuses the password is reported with SMTP_URL', async () => {
  const box = await startMailbox({
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'gate' }) : done(new Error('wrong password')),
    allowInsecureAuth: true,
  })
  const found = async (password: string | null, { port } = box) => {
    const login = password === null ? null : { user: 'gate', password }
    line?.close()
    const opened = open({
      mail: {
        server: { host: '127.0.0.1', port, tls: 'off', login },
        from: { name: null, address: 'gate@example.com' },
      },
    })
    const { mail } = await findings(opened)
    return mail
  }
  const address = `127.0.0.1:${box.port}`
  expect(await found('right')).toBe(
    `ok: ${address} accepts the user and the password; \`tollgate mail test <email>\` sends an email`,
  )
  expect(await found(null)).toMatch(/^ok: \S+ answers; /)
  expect(await found('wrong')).toMatch(
    /^failed: \S+: the mail server refused the user or the password of SMTP_URL: .+: correct SMTP_URL/,
  )
  expect(box.mails).toEqual([])
  const unsigned = await startMailbox({ disabledCommands: ['STARTTLS', 'AUTH'] })
  expect(await found('right', unsigned)).toMatch(/^failed: /)
  await unsigned.close()
  await box.close()
  expect(await found(null)).toMatch(
    /^failed: \S+: the mail server cannot be reached: correct SMTP_URL/,
  )
})

test.each([
  [-1_900, 'ok', 'agrees'],
  [3_000, 'warning', 'is 3 s behind'],
  [-20_000, 'failed', 'is 20 s ahead of'],
])('a database clock %d ms ahead: %s', (leadMs, state, words) => {
  expect(clockFinding(leadMs)).toMatchObject({ state, message: expect.stringContaining(words) })
})

test('durations are shown in the largest sufficient unit', () => {
  expect([40_000, 720_000, 10_800_000, 345_600_000].map(durationText)).toEqual([
    '40 s',
    '12 min',
    '3 h',
    '4 days',
  ])
})
