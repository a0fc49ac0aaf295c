import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { FIELD_WORDS } from '../../src/http/openapi/schemas.ts'
import { micros } from '../../src/vocabulary/money.ts'
import { PROBLEMS } from '../../src/vocabulary/problem.ts'
import { inviteGuest, setUpOperator } from '../page/page-client.ts'
import { ADMIN_TOKEN, Management, textOf } from './management.ts'
import { operationsOf } from './openapi-reading.ts'
import { WITH_TOY } from './toy-operation.ts'

/** The page at `/docs`: whole, safe, and each of its commands as it is pasted. */

const run = promisify(execFile)

/** As it is sent, and as its script has drawn it. */
let source: string
let page: string
let policy: unknown

const admin = Management.ofFile({ operations: WITH_TOY, mode: 'simulator' })
beforeAll(async () => {
  admin.world.simulator.generations.answerUnknownFirst(Number.MAX_SAFE_INTEGER)
  const answer = await request(admin.world.url('/docs'))
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  policy = answer.headers['content-security-policy']
  source = await answer.body.text()
  page = await drawn(source)
})

interface Drawing {
  renderReference(openapi: unknown): Record<string, string>
}

const SCRIPT = new URL('../../src/http/openapi/page/render.js', import.meta.url)

/** The page as a browser shows it: what its script makes of the document, in the elements for it. */
async function drawn(html: string): Promise<string> {
  const { renderReference }: Drawing = await import(SCRIPT.href)
  const parts = renderReference((await admin.get('/openapi.json', null)).json)
  return Object.entries(parts).reduce(
    (shown, [id, part]) => shown.replace(`id="${id}">`, (at) => at + part),
    html.replace(/<script.*<\/script>/s, ''),
  )
}

function unescaped(html: string): string {
  return html
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** The command of each operation, by its name. */
function commands(): Map<string, string> {
  const articles = page.matchAll(/<article id="(\w+)">(.*?)<\/article>/gs)
  return new Map(
    [...articles].flatMap(([, name = '', article = '']) => {
      const [, command] = /<pre[^>]*><code>(.*?)<\/code>/s.exec(article) ?? []
      return command === undefined ? [] : [[name, unescaped(command)]]
    }),
  )
}

test('it loads fonts only from its own address, and runs its own script and style', () => {
  const hashOf = (tag: string): string => {
    const [, text = ''] = new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 's').exec(source) ?? []
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  expect(policy).toBe(
    `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
  expect(source).toContain(readFileSync(SCRIPT, 'utf8').replace('export ', ''))
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|\son\w+=|\sstyle=/)
  expect([...page.matchAll(/url\(([^)]*)\)/g)].map(([, url]) => url)).toEqual([
    '"/docs/inter.woff2"',
    '"/docs/jetbrains-mono.woff2"',
  ])
  for (const [, address = ''] of page.matchAll(/\s(?:href|src|action)="([^"]*)"/g)) {
    expect(address).toMatch(/^(?:#main|\/docs(?:\/\w+|#[\w-]+)?|\/openapi\.json)$/)
  }
})

test('its colours, fonts and radii are the tokens of the page', () => {
  const tokens = readFileSync(new URL('../../web/styles/tokens.css', import.meta.url), 'utf8')
  const own = [...source.matchAll(/^ {2}--[\w-]+: .*;$/gm)].map(([line]) => line)
  expect(own.length).toBeGreaterThan(15)
  for (const line of own) expect(tokens).toContain(line)
  const [, rules = ''] = source.split('color-scheme: light dark;')
  expect(rules).not.toMatch(/#[0-9a-f]{3,8}\b(?=[;,)])|rgb\(/)
})

test('it follows the theme that was chosen on the page', async () => {
  const htmlOf = async (cookie: string): Promise<string> => {
    const answer = await request(admin.world.url('/docs'), { headers: { cookie } })
    expect(answer.headers['vary']).toBe('cookie')
    return answer.body.text()
  }
  for (const theme of ['light', 'dark']) {
    expect(await htmlOf(`other=1; theme=${theme}`)).toContain(
      `<html lang="en" data-theme="${theme}">`,
    )
  }
  for (const cookie of ['', 'theme=', 'theme=plaid']) {
    expect(await htmlOf(cookie)).toContain('<html lang="en">')
  }
})

test('each operation has an address, and nothing else has one', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  for (const { name } of operationsOf(document)) {
    const answer = await request(admin.world.url(`/docs/${name}`))
    expect([answer.statusCode, await answer.body.text()]).toEqual([200, source])
  }
  expect((await request(admin.world.url('/docs/nothing'))).statusCode).toBe(404)
})

test('the page with a slash behind its address redirects to it', async () => {
  const { statusCode, headers } = await request(admin.world.url('/docs/'))
  expect([statusCode, headers['location']]).toEqual([302, '/docs'])
})

test('each field and parameter shows its default once', () => {
  const rows = [...page.matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) => row)
  expect(rows.filter((row) => row.split(/\bDefault\b/).length > 2)).toEqual([])
  const [, usage = ''] = page.split('<article id="getKeyUsage">')
  expect(unescaped(usage)).toMatch(/<code>by<\/code>.*?Default: <code>"day"<\/code>/s)
})

test('each ID occurs once, and every link within the page has a target', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, id] of page.matchAll(/href="(?:\/docs)?[#/]([^"]*)"/g)) {
    if (id !== 'docs' && id !== 'openapi.json') expect(ids).toContain(id)
  }
})

test('it has every operation, every error and every description of a field', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  for (const { name } of operationsOf(document)) {
    expect(page).toContain(`<article id="${name}">`)
    expect(page).toContain(`<li><a href="/docs/${name}">`)
  }
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`<tr id="error-${code}">`)
  const text = unescaped(page.replace(/<\/?code>/g, '`'))
  const unshown = [...FIELD_WORDS].filter(([, words]) => !text.includes(words))
  expect(unshown).toEqual([])
})

const REMOVALS = new Set(['deleteKey', 'deleteWebhook'])

test('every operation except retired ones has a command, which succeeds as printed', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  const current = operationsOf(document).filter(({ json }) => json['deprecated'] !== true)
  const shown = commands()
  expect([...shown.keys()].sort()).toEqual(current.map(({ name }) => name).sort())

  const accountId = await admin.account(1_000_000_000)
  const { id: keyId, text: apiKey } = await admin.apiKey(accountId)
  // The users whose addresses the examples have.
  await setUpOperator(admin.world)
  await inviteGuest(admin.world, { email: 'eve@example.org', accountId, role: 'member' })
  const lin = await inviteGuest(admin.world, {
    email: 'lin@example.org',
    accountId,
    role: 'member',
  })
  const { headers } = await admin.chat(apiKey)
  await admin.world.gateway.settled()
  const made = await admin.post('/v1/admin/codes', { amount: 5 })
  const revocable = await admin.post('/v1/admin/codes', { amount: 5 })
  const token = await admin.post('/v1/admin/tokens', { name: 'shop', scopes: ['read'] })
  const webhook = await admin.post('/v1/admin/webhooks', {
    url: 'https://example.org/tollgate',
    events: ['balance.low'],
  })
  await admin.post('/v1/admin/invitations', { email: 'late@example.org', operator: true })
  const open = await admin.get('/v1/admin/invitations')
  const env = {
    INVITATION_ID: String(Object(open.json['data'])[0].id),
    TOKEN_ID: textOf(token.json, 'id'),
    WEBHOOK_ID: textOf(webhook.json, 'id'),
    PATH: process.env['PATH'],
    GATEWAY: admin.world.url(''),
    TOLLGATE_API_KEY: apiKey,
    ADMIN_API_TOKEN: ADMIN_TOKEN,
    ACCOUNT_ID: accountId,
    KEY_ID: keyId,
    USER_ID: textOf(Object((await lin.get('me')).json['user']), 'id'),
    REQUEST_ID: String(headers['x-request-id']),
  }
  // Removals go last: other operations need the removed things.
  const ordered = [...shown].sort(
    ([one], [other]) => Number(REMOVALS.has(one)) - Number(REMOVALS.has(other)),
  )
  for (const [name, command] of ordered) {
    const codeId = textOf((name === 'revokeCode' ? revocable : made).json, 'id')
    const typed = command.replace(/(?:X{6}-?){4}/, textOf(made.json, 'code'))
    const held = {
      kind: 'hold',
      reason: 'paid in another currency',
      worthMicros: micros(25_000_000),
    } as const
    const purchaseId = await admin.world.purchase(accountId, held)
    const { stdout } = await run('sh', ['-c', `${typed} -s -w '\\n%{http_code}'`], {
      env: { ...env, CODE_ID: codeId, PURCHASE_ID: purchaseId },
      maxBuffer: 64 * 1024 * 1024,
    })
    expect(stdout.split('\n').at(-1), `${name}: ${typed}\n${stdout}`).toMatch(/^20[012]$/)
  }
})
