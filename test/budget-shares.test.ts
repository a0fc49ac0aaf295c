import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAccount, worldOfFile } from './world.ts'

const MIB = 1024 * 1024

let greedy: TestAccount
let other: TestAccount
const sockets: Socket[] = []

const world = worldOfFile({ settings: { TOLLGATE_BUFFER_BYTES_MAX: String(256 * MIB) } })
beforeAll(async () => {
  greedy = await world.account({ apiKeys: 2 })
  other = await world.account()
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
})

/** Starts an upload of 30 MB, sends no body, and returns the first bytes of the answer. */
async function withheld(apiKey: string): Promise<string> {
  const { hostname, port } = new URL(world.gateway.address)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\nexpect: 100-continue\r\ncontent-length: ${30 * MIB}\r\n\r\n`,
  )
  return String((await once(socket, 'data'))[0])
}

test('an account that sends its bodies slowly takes only its share of the memory, and others are served', async () => {
  const [first = '', second = ''] = greedy.apiKeys
  // 150 MB: the last uploads were accepted while less than half of 256 MB was in use.
  for (let upload = 0; upload < 5; upload++)
    expect(await withheld(first)).toMatch(/^HTTP\/1\.1 100 /)
  for (const apiKey of [first, second]) {
    const refused = await withheld(apiKey)
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toMatch(/retry-after: 1\r\n/)
  }
  const body = JSON.stringify({ model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }] })
  const answer = await world.send(other.apiKey, body + ' '.repeat(30 * MIB))
  expect(answer.status, await answer.text()).toBe(200)
})
