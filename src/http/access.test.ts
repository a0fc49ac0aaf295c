import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Gate } from '../journey/gate/gate.ts'
import { Problem } from '../vocabulary/problem.ts'
import { CALL_LIMITS, keyAccess } from './access.ts'

const KEYS = 3
const CALLS_AT_ONCE = 256

const gate = new Gate({ clock: { nowMs: () => 0 }, settings: CALL_LIMITS })
const access = keyAccess(gate, async () => ({ apiKeyId: '', accountId: '' }))

let calls = 0
// Admits a call of another key of the account each time, and then leaves it unanswered.
const server = createServer((_, client) => {
  try {
    const apiKeyId = `key_${calls++ % KEYS}`
    access.onCaller?.({ kind: 'key', apiKeyId, accountId: 'acct_1' }, client)
    client.writeHead(200).write('admitted')
  } catch (error) {
    client.end(error instanceof Problem ? error.code : String(error))
  }
})

beforeEach(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** The first bytes of the answer to a call that continues until the client leaves. */
async function call() {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const { port } = server.address() as AddressInfo
  const sent = request({ port, host: '127.0.0.1', agent: false }, (answer) => {
    answer.on('error', () => {})
    answer.once('data', (bytes) => resolve(String(bytes)))
  })
  sent.on('error', reject)
  sent.end()
  return { said: await promise, leave: () => sent.destroy() }
}

test('all keys of an account have 256 calls at a time together, and a call whose client leaves frees its place', async () => {
  const admitted = []
  for (let count = 0; count < CALLS_AT_ONCE; count++) admitted.push(await call())
  expect(admitted.map(({ said }) => said)).toEqual(new Array(CALLS_AT_ONCE).fill('admitted'))
  expect((await call()).said).toBe('rate_limited')
  const closed = new Promise((resolve) =>
    server.once('request', (_, client) => client.once('close', resolve)),
  )
  admitted[0]?.leave()
  let next = await call()
  while (next.said !== 'admitted') next = await call()
  next.leave()
  await closed
})
