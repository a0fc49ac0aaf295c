import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { openStore, runCommand } from './processes.ts'

test('a command reaches a store through its relay, unless the store is away', async () => {
  const server = createServer((socket) => socket.end('here'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const store = await openStore(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const script = `require('net').connect(${new URL(store.url).port}, '127.0.0.1').pipe(process.stdout)`
  const ask = () => runCommand(`${process.execPath} -e "${script}"`, '.')
  expect(await ask()).toBe('here')
  await store.setAway(true)
  await expect(ask()).rejects.toThrow('ECONNREFUSED')
  await store.setAway(false)
  expect(await ask()).toBe('here')
  await store.close()
  server.close()
})
