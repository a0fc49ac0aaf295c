import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig, SETTINGS } from '../../src/app/config.ts'
import { parseDatabaseUrl } from '../../src/store/database-url.ts'
import { ROOT, readImageRecipe } from './image-recipe.ts'

/** compose.yaml and its environment files, held to each other, to the Dockerfile and to the settings. */

// Strict: a name that Compose does not know is refused by it, and one that we misspell by this.
const SERVICE = z.strictObject({
  build: z.string().optional(),
  image: z.string(),
  env_file: z.string(),
  ports: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.int(),
      start_period: z.string(),
    })
    .optional(),
  restart: z.literal('unless-stopped'),
  stop_grace_period: z.string().regex(/^\d+m$/),
  read_only: z.literal(true),
  tmpfs: z.array(z.string()),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  ulimits: z.strictObject({ nofile: z.int() }).optional(),
})
const { services, networks, volumes } = z
  .strictObject({
    name: z.string(),
    services: z.strictObject({ tollgate: SERVICE, postgres: SERVICE }),
    networks: z.record(z.string(), z.strictObject({ internal: z.boolean() }).nullable()),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8')))
const { tollgate, postgres } = services

/** The example that a service's environment file is a copy of. */
function example({ env_file: path }: z.output<typeof SERVICE>): NodeJS.Dict<string> {
  return parseEnv(readFileSync(join(ROOT, `${path}.example`), 'utf8'))
}

test('networks and volumes exist, and only the gateway has both networks', () => {
  for (const { networks: joined } of [tollgate, postgres]) {
    for (const network of joined) expect(Object.keys(networks)).toContain(network)
  }
  expect(postgres.networks).toEqual(['store'])
  expect(networks['store']).toEqual({ internal: true })
  // The images of PostgreSQL from 18 on refuse a volume on the folder of the version itself.
  expect(postgres.volumes).toEqual(['postgres:/var/lib/postgresql'])
  expect(Object.keys(volumes)).toEqual(['postgres'])
})

test('the gateway waits for a healthy database, and is reached on this machine alone at the port of the image', () => {
  expect(tollgate.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
  expect(postgres.healthcheck?.test.slice(0, 2)).toEqual(['CMD', 'pg_isready'])
  const exposed = readImageRecipe().find(({ name }) => name === 'EXPOSE')?.rest
  expect(tollgate.ports).toEqual([`127.0.0.1:8787:${exposed}`])
})

test('the environment of the gateway is settings that exist, with values that can be used', () => {
  const settings = example(tollgate)
  for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS)).toContain(name)
  expect(readConfig(settings).UPSTREAM_API_KEY).toBe('change-me')
})

test('the address of the store names the service, user, password and database of the other file', () => {
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = example(postgres)
  const url = String(example(tollgate)['DATABASE_URL'])
  expect(url).toBe(`postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`)
  expect(parseDatabaseUrl(url).kind).toBe('postgres')
  expect(postgres.healthcheck?.test).toEqual(
    expect.arrayContaining(['-U', POSTGRES_USER, '-d', POSTGRES_DB]),
  )
})

test('it is killed only after running answers had their time to end', () => {
  const graceMs = Number.parseInt(tollgate.stop_grace_period, 10) * 60_000
  expect(graceMs).toBeGreaterThan(readConfig(example(tollgate)).TOLLGATE_DRAIN_TIMEOUT_MS)
})
