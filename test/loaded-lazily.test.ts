import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serve } from './tollgate-process.ts'

// The parts of Fastify and undici that nothing uses.
const PACKAGES =
  /prom-client|@opentelemetry|openid-client|oauth4webapi|ajv|fast-uri|undici.lib.(web|mock|cache)/

/** Tells, on standard error, each file of these packages that a process loads. */
const TELL = `
  import { registerHooks } from 'node:module'
  import { writeSync } from 'node:fs'
  registerHooks({
    load(url, context, next) {
      const [name] = /${PACKAGES.source}/.exec(url) ?? []
      if (name !== undefined) writeSync(2, 'loads ' + name + '\\n')
      return next(url, context)
    },
  })
`

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-loaded-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function loadedWith(settings: Readonly<Record<string, string>>): Promise<Set<string>> {
  const tell = `data:text/javascript;base64,${Buffer.from(TELL).toString('base64')}`
  const env = { NODE_OPTIONS: `--import=${tell}`, ...settings }
  const server = await serve({ folder, env })
  const { code } = await server.stop('SIGTERM')
  expect(code).toBe(0)
  return new Set([...server.greeting.matchAll(/^loads (.*)$/gm)].map(([, name]) => name ?? ''))
}

test('a server without metrics and traces loads neither, loads sign-in only at the first use, and loads no unused part', async () => {
  const google = { GOOGLE_CLIENT_ID: 'gate', GOOGLE_CLIENT_SECRET: 'secret' }
  expect(await loadedWith(google)).toEqual(new Set())
})

test('a server with either setting loads its packages', async () => {
  expect(await loadedWith({ METRICS_PORT: '0' })).toContain('prom-client')
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  expect(await loadedWith(collector)).toEqual(new Set(['@opentelemetry']))
})
