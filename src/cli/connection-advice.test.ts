import { expect, onTestFinished, test } from 'vitest'
import { startSimulator } from '../../simulator/simulator.ts'
import { DEFAULT_CATALOG_SETTINGS } from '../catalog/catalog.ts'
import { DEFAULT_PUBLIC_NAMES } from '../formats/testing/exchange.ts'
import { loadDialect } from '../upstreams/dialects.ts'
import { upstreamSettings } from '../upstreams/testing/upstream-settings.ts'
import { connectionAdvice } from './connection-advice.ts'
import { openCommandLine, type Seen } from './testing/command-line.ts'

/** The output of `tollgate upstream check` for a provider at an address. */
async function checked(baseUrl: string): Promise<Seen> {
  const line = openCommandLine({
    upstreams: {
      load: async () => ({
        mode: 'live',
        upstreams: [upstreamSettings({ name: 'main', baseUrl })],
        aliases: new Map(),
      }),
      catalog: DEFAULT_CATALOG_SETTINGS,
      loadDialect,
      publicNames: DEFAULT_PUBLIC_NAMES,
    },
  })
  onTestFinished(() => line.close())
  return await line.run('upstream', 'check')
}

test.each([
  ['CERT_NOT_YET_VALID', 'check the clock of this machine (`date`), by which the certificate'],
  ['CERT_HAS_EXPIRED', 'check the clock of this machine (`date`); if it is right, the owner'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'set NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'set NODE_EXTRA_CA_CERTS'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'correct the address'],
])('a connection that fails with %s has advice of its own', (code, advice) => {
  const cause = new Error('refused', { cause: Object.assign(new Error('inner'), { code }) })
  expect(connectionAdvice(cause)).toContain(advice)
})

test.each(['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT'])(
  'a connection that fails with %s has none but to check the address',
  (code) => {
    expect(connectionAdvice(Object.assign(new Error('refused'), { code }))).toBeNull()
  },
)

test('an https address of a server that speaks http is named as that', async () => {
  const simulator = await startSimulator()
  onTestFinished(() => simulator.close())
  const { notes } = await checked(simulator.baseUrl.replace('http:', 'https:'))
  expect(notes).toMatch(/^main: wrong version number: the server there does not speak TLS/)
})
