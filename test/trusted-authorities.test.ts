import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CERTIFICATE, startReceiver } from '../src/webhooks/testing/receiver.ts'
import { tollgate } from './tollgate-process.ts'

/** `NODE_EXTRA_CA_CERTS` in `.env`, which Node has no part in. */

/** The output of `tollgate upstream check` for a server that has its certificate from an authority of the company. */
async function check({
  authorities,
  isNamed = true,
}: {
  readonly authorities: string | null
  readonly isNamed?: boolean
}) {
  const server = await startReceiver((response) => response.end('{"data":[]}'))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-authorities-'))
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  if (authorities !== null) writeFileSync(join(folder, 'company.pem'), authorities)
  const settings = [
    `UPSTREAM_BASE_URL=https://127.0.0.1:${server.port}/v1`,
    'UPSTREAM_API_KEY=any',
    ...(isNamed ? ['NODE_EXTRA_CA_CERTS=company.pem'] : []),
  ]
  writeFileSync(join(folder, '.env'), settings.join('\n'))
  const { notes } = await tollgate(['upstream', 'check'], { folder })
  return { notes, paths: server.received.map(({ path }) => path) }
}

test('an authority that .env names is trusted', async () => {
  const { paths } = await check({ authorities: `# The company.\n${CERTIFICATE}\n` })
  expect(paths[0]).toMatch(/^\/v1\/models/)
})

test('a certificate of an unknown authority is refused with the setting that names the authority', async () => {
  const { paths, notes } = await check({ authorities: null, isNamed: false })
  expect(paths).toEqual([])
  expect(notes).toMatch(/^openrouter: .*certificate.*: set NODE_EXTRA_CA_CERTS to the certificates/)
})

test.each([
  ['is missing', null],
  ['has no certificate', 'company'],
])('a file of authorities that %s is reported, and nothing starts', async (_, authorities) => {
  expect(await check({ authorities })).toEqual({
    paths: [],
    notes:
      'tollgate: NODE_EXTRA_CA_CERTS is company.pem, which is not a readable file of certificates: name a PEM file of certificate authorities\n',
  })
})

test('a file with an unreadable certificate is reported with the place of the certificate, and nothing starts', async () => {
  const broken = CERTIFICATE.replace(/\n[^-]+\n/, '\nAAAA\n')
  expect(await check({ authorities: `${CERTIFICATE}\n${broken}\n` })).toEqual({
    paths: [],
    notes:
      "tollgate: NODE_EXTRA_CA_CERTS is company.pem, whose certificate 2 can't be read: name a PEM file of certificate authorities\n",
  })
})
