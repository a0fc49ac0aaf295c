import { once } from 'node:events'
import { connect, createServer, type LookupFunction } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../vocabulary/testing/listen.ts'
import { sharedLookup } from './connector.ts'

type Answer = Parameters<LookupFunction>[2]

const ADDRESS = [{ address: '127.0.0.1', family: 4 }]
const OTHER = [{ address: '127.0.0.2', family: 4 }]

/** DNS servers that answer when the test says so. */
function heldServers() {
  const asked: { readonly hostname: string; readonly answer: Answer }[] = []
  return {
    asked,
    ask: (hostname: string, _: object, answer: Answer) => void asked.push({ hostname, answer }),
    answer: (addresses: typeof ADDRESS) => asked.shift()?.answer(null, addresses),
    fail: (code: string) => asked.shift()?.answer(Object.assign(new Error(code), { code }), []),
  }
}

function looks(lookup: LookupFunction, hostname: string): Promise<unknown> {
  return new Promise((resolve) => {
    lookup(hostname, { all: true }, (error, addresses) => resolve(error?.code ?? addresses))
  })
}

test('a name is asked about once at a time, however many connections need it', async () => {
  const servers = heldServers()
  const lookup = sharedLookup(servers)
  const all = Array.from({ length: 100 }, () => looks(lookup, 'slow.example'))
  const other = looks(lookup, 'other.example')
  expect(servers.asked.map(({ hostname }) => hostname)).toEqual(['slow.example', 'other.example'])
  servers.answer(ADDRESS)
  expect(await Promise.all(all)).toEqual(all.map(() => ADDRESS))
  servers.answer(OTHER)
  expect(await other).toEqual(OTHER)
  // An answer is not kept for the next connection: addresses change.
  void looks(lookup, 'slow.example')
  expect(servers.asked).toHaveLength(1)
})

test('where DNS servers fail or do not answer, a connection gets the addresses of the last answer', async () => {
  const servers = heldServers()
  const lookup = sharedLookup({ ...servers, slowMs: 1 })
  const first = looks(lookup, 'a.example')
  servers.answer(ADDRESS)
  expect(await first).toEqual(ADDRESS)
  // The servers have not answered this one.
  expect(await looks(lookup, 'a.example')).toEqual(ADDRESS)
  servers.answer(OTHER)
  const second = looks(lookup, 'a.example')
  servers.fail('EAI_AGAIN')
  expect(await second).toEqual(OTHER)
})

test('a name that is gone, that was never known, or whose addresses are old, has none', async () => {
  const servers = heldServers()
  const lookup = sharedLookup(servers)
  const unknown = looks(lookup, 'a.example')
  servers.fail('EAI_AGAIN')
  expect(await unknown).toBe('EAI_AGAIN')
  const known = looks(lookup, 'a.example')
  servers.answer(ADDRESS)
  await known
  const gone = looks(lookup, 'a.example')
  servers.fail('ENOTFOUND')
  expect(await gone).toBe('ENOTFOUND')

  const forgetful = sharedLookup({ ...servers, knownForMs: 0 })
  const answered = looks(forgetful, 'a.example')
  servers.answer(ADDRESS)
  await answered
  const old = looks(forgetful, 'a.example')
  servers.fail('EAI_AGAIN')
  expect(await old).toBe('EAI_AGAIN')
})

test('connections are opened by names that the system knows', async () => {
  const server = createServer((socket) => void socket.end())
  onTestFinished(() => void server.close())
  const port = await listen(server)
  const socket = connect({ host: 'localhost', port, family: 4, lookup: sharedLookup() })
  await expect(once(socket, 'connect')).resolves.toEqual([])
  socket.destroy()
})
