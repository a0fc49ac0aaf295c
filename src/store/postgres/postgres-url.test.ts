import { expect, test } from 'vitest'
import { readPostgresUrl } from './postgres-url.ts'

/** The names and the addresses of the servers of a URL. */
function serversOf(url: string): readonly (readonly [string, string])[] {
  return readPostgresUrl(url).servers.map((server) => [server.name, server.url])
}

test('a URL with one host is one server, and the driver gets it unchanged', () => {
  const url = 'postgres://user:p%40ss@db1:5433/tollgate?sslmode=verify-full'
  expect(serversOf(url)).toEqual([['db1:5433', url]])
  expect(serversOf('PostgreSQL://db1/tollgate')).toEqual([
    ['db1:5432', 'PostgreSQL://db1/tollgate'],
  ])
})

test.each(['prefer', 'require', 'verify-ca'])(
  'sslmode=%s checks the whole certificate, and the driver gets the name of that, about which it prints no warning',
  (mode) => {
    const [, url] = serversOf(`postgres://db1/d?sslmode=${mode}`)[0] ?? []
    expect(url).toBe('postgres://db1/d?sslmode=verify-full')
    const compatible = `postgres://db1/d?uselibpqcompat=true&sslmode=${mode}`
    expect(serversOf(compatible)).toEqual([['db1:5432', compatible]])
  },
)

test.each([
  'postgres://user:word@db1:5432,db2:5433,[fd00::3]/tollgate?target_session_attrs=read-write',
  'postgres://user:word@ignored/tollgate?host=db1,db2,fd00::3&port=5432,5433,',
])('%s is three servers in their order, and the driver gets one at a time', (url) => {
  const [first, second, third] = serversOf(url)
  expect(first).toEqual(['db1:5432', 'postgres://user:word@db1:5432/tollgate'])
  expect(second).toEqual(['db2:5433', 'postgres://user:word@db2:5433/tollgate'])
  expect(third).toEqual(['[fd00::3]:5432', 'postgres://user:word@[fd00::3]/tollgate'])
})

test('one port counts for all hosts, and another number of ports is an error', () => {
  const names = (url: string) => serversOf(url).map(([name]) => name)
  expect(names('postgres://h/d?host=a,b&port=6000')).toEqual(['a:6000', 'b:6000'])
  expect(names('postgres://a,b/d?port=6000')).toEqual(['a:6000', 'b:6000'])
  expect(() => readPostgresUrl('postgres://a,b,c/d?port=1,2')).toThrow(
    'DATABASE_URL names 3 hosts and 2 ports: give one port for all, or one for each',
  )
})

test('a folder is the socket of a server of this machine', () => {
  const [name, address = ''] = serversOf('postgres://u@/d?host=/run/postgresql')[0] ?? []
  expect(name).toBe('/run/postgresql')
  expect(new URL(address).searchParams.get('host')).toBe('/run/postgresql')
  expect(serversOf('postgres://u@%2Frun%2Fpostgresql/d')[0]?.[0]).toBe('/run/postgresql')
})

test.each([null, 'read-write', 'primary', 'any'])(
  'a gateway writes to a target of %s',
  (target) => {
    const url = `postgres://a/d${target === null ? '' : `?target_session_attrs=${target}`}`
    expect(serversOf(url)).toEqual([['a:5432', 'postgres://a/d']])
  },
)

test.each([
  [
    'target_session_attrs=standby',
    'is standby: the gateway needs a server that takes writes, so leave it out',
  ],
  [
    'target_session_attrs=read-only',
    'is read-only: the gateway needs a server that takes writes, so leave it out',
  ],
  [
    'target_session_attrs=prefer-standby',
    'the gateway needs a server that takes writes, so leave it out',
  ],
  [
    'load_balance_hosts=yes',
    'load_balance_hosts of DATABASE_URL is yes: it must be random or disable',
  ],
  [
    'connect_timeout=0',
    'connect_timeout of DATABASE_URL is 0: it must be a whole number of seconds',
  ],
  ['connect_timeout=2s', 'connect_timeout of DATABASE_URL is 2s'],
])('%s is refused with what to do', (parameter, message) => {
  expect(() => readPostgresUrl(`postgres://a,b/d?${parameter}`)).toThrow(message)
})

test('the order may be drawn, and the wait for one server be set', () => {
  const url = 'postgres://a,b/d?load_balance_hosts=random&connect_timeout=7'
  expect(readPostgresUrl(url)).toMatchObject({ isShuffled: true, connectTimeoutMs: 7_000 })
  expect(readPostgresUrl('postgres://a,b/d')).toMatchObject({
    isShuffled: false,
    connectTimeoutMs: 2_000,
  })
})

test.each(['postgres://a,,b/d', 'postgres://a:0/d', 'postgres://a:66000/d', 'postgres://a:x/d'])(
  '%s is refused with the accepted forms',
  (url) => {
    expect(() => readPostgresUrl(url)).toThrow('postgres://user:password@host:port/database')
  },
)

test.each([
  ['postgres://a/d', 5_000, 5_000],
  ['postgres://a,b/d', 2_000, 5_000],
  ['postgres://a,b/d?connect_timeout=2', 2_000, 5_000],
  ['postgres://a,b/d?connect_timeout=10', 10_000, 20_000],
  ['postgres://a/d?connect_timeout=30', 30_000, 30_000],
])('%s is waited for %d ms a server, and %d ms in all', (url, connectTimeoutMs, connectTotalMs) => {
  expect(readPostgresUrl(url)).toMatchObject({ connectTimeoutMs, connectTotalMs })
})
