import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { ask } from './client.ts'

test('a gateway that closes a connection as its next request comes answers each request', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    let requests = 0
    socket.on('data', (bytes) => {
      if (!bytes.toString().startsWith('POST')) return
      if (++requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      else socket.resetAndDestroy()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  for (const body of ['1', '2', '3', '4'])
    expect(await ask({ url, body })).toMatchObject({ text: 'ok', broke: null })
  server.close()
})
