import { expect, test } from 'vitest'
import { AddressRules, urlFault } from './target.ts'

const PUBLIC = new AddressRules([])

test.each([
  ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
  ['172.16.0.1', '172.31.255.255', '192.168.1.1', '192.0.0.1', '192.0.2.1', '198.18.0.1'],
  ['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
  ['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12:3456::1', 'ff02::1', 'fec0::1'],
  ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:a00:1', '::127.0.0.1', '64:ff9b::7f00:1'],
  ['64:ff9b:1::a00:1', '2002:7f00:1::', '2001::1', '2001:db8::1', '100::1', '::2', '4000::1'],
  ['localhost', '', '1', 'example.org', '1.1.1.1 ', '[::1]', '2606:4700::1111%eth0'],
])('%j and others like it are refused', (...addresses) => {
  for (const address of addresses) expect(PUBLIC.allows(address), address).toBe(false)
})

test('public addresses are allowed, and others only in the networks of the settings', () => {
  for (const address of ['1.1.1.1', '93.184.215.14', '2606:4700::1111', '2a00:1450::1']) {
    expect(PUBLIC.allows(address), address).toBe(true)
  }
  const some = new AddressRules(['10.1.0.0/16', '::1'])
  for (const address of ['10.1.2.3', '::1', '1.1.1.1']) expect(some.allows(address)).toBe(true)
  for (const address of ['10.2.0.1', '127.0.0.1', '::2']) expect(some.allows(address)).toBe(false)
})

test.each([
  ['http://example.org/', 'https://'],
  ['ftp://example.org/', 'https://'],
  ['//example.org/', 'https://'],
  ['example.org', 'https://'],
  ['', 'https://'],
  ['https://user@example.org/', 'user name'],
  ['https://:pass@example.org/', 'user name'],
  ['https://example.org@127.0.0.1/', 'user name'],
  ['https://example.org/#part', '#'],
  ['https://127.0.0.1/', 'must be a public address'],
  ['https://127.1/', 'must be a public address'],
  ['https://2130706433/', 'must be a public address'],
  ['https://0x7f000001/', 'must be a public address'],
  ['https://0177.0.0.1/', 'must be a public address'],
  ['https://0/', 'must be a public address'],
  ['https://127.0.0.1./', 'must be a public address'],
  ['https://①②⑦.0.0.1/', 'must be a public address'],
  ['https://224.0.0.1/', 'must be a public address'],
  ['https://240.0.0.1/', 'must be a public address'],
  ['https://[::1]/', 'must be a public address'],
  ['https://[::ffff:127.0.0.1]/', 'must be a public address'],
  ['https://[::ffff:7f00:1]:8443/', 'must be a public address'],
  ['https://[0:0:0:0:0:0:0:1]/', 'must be a public address'],
  ['https://[64:ff9b::10.0.0.1]/', 'must be a public address'],
])('%s is not a valid webhook address', (text, why) => {
  expect(urlFault(text, PUBLIC)).toContain(why)
})

test('a line break in an address never reaches a header', () => {
  expect(urlFault('https://example.org/a\r\nx-y: z', PUBLIC)).toBeNull()
  expect(new URL('https://example.org/a\r\nx-y: z').href).toBe('https://example.org/ax-y:%20z')
})

test('a host name, a port and a public address are valid', () => {
  for (const text of [
    'https://example.org/x?y=z',
    'https://example.org:8443',
    'https://1.1.1.1/',
  ]) {
    expect(urlFault(text, PUBLIC)).toBeNull()
  }
})
