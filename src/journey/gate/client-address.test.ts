import { describe, expect, test } from 'vitest'
import { ClientAddresses, parseAddressRange } from './client-address.ts'

interface Of {
  readonly peer: string
  readonly forwarded?: string
  readonly trusted?: readonly string[]
  readonly bits?: number
}

function addressOf({ peer, forwarded, trusted = [], bits = 64 }: Of): string {
  const addresses = new ClientAddresses({ trustedProxies: trusted, ipv6PrefixBits: bits })
  return addresses.of({ headers: { 'x-forwarded-for': forwarded }, peerAddress: peer })
}

/** A request of a proxy with this header, where these are trusted. */
const via = (peer: string, forwarded: string, ...trusted: readonly string[]): Of => ({
  peer,
  forwarded,
  trusted,
})
const CLIENT = '198.51.100.9'

describe('a client is counted under', () => {
  test.each<[string, Of, string]>([
    ['the address of its peer', { peer: '192.0.2.1' }, '192.0.2.1'],
    ['an IPv4 address written as IPv6', { peer: '::ffff:192.0.2.1' }, '192.0.2.1'],
    ['an IPv4 address written as IPv6 in groups', { peer: '::FFFF:c000:0201' }, '192.0.2.1'],
    ['the network of an IPv6 address', { peer: '2001:db8:1:2:3:4:5:6' }, '2001:db8:1:2:0:0:0:0/64'],
    ['the same network', { peer: '2001:db8:1:2::9' }, '2001:db8:1:2:0:0:0:0/64'],
    ['a longer network', { peer: '2001:db8:1:2ff:3::', bits: 56 }, '2001:db8:1:200:0:0:0:0/56'],
    ['all bits', { peer: '2001:db8::1', bits: 128 }, '2001:db8:0:0:0:0:0:1/128'],
    ['an address without its zone', { peer: 'fe80::1%eth0' }, 'fe80:0:0:0:0:0:0:0/64'],
    [
      'an IPv6 address that ends in dotted notation',
      { peer: '64:ff9b::192.0.2.1' },
      '64:ff9b:0:0:0:0:0:0/64',
    ],
    ['no address in a header', { peer: '192.0.2.1', forwarded: CLIENT }, '192.0.2.1'],
    ['its peer, if another peer is trusted', via('192.0.2.1', CLIENT, '192.0.2.2'), '192.0.2.1'],
    ['the address that a trusted proxy sends', via('192.0.2.1', CLIENT, '192.0.2.1'), CLIENT],
    [
      'the address that a proxy of a trusted network sends',
      via('::ffff:10.1.2.3', CLIENT, '10.0.0.0/8'),
      CLIENT,
    ],
    [
      'the right-most address that is not trusted, even after forged ones',
      via('10.0.0.1', '203.0.113.7, 198.51.100.9, 10.0.0.3,10.0.0.2', '10.0.0.0/8'),
      CLIENT,
    ],
    [
      'the last proxy, if one wrote no address',
      via('10.0.0.1', '198.51.100.9, unknown', '10.0.0.1'),
      '10.0.0.1',
    ],
    [
      'the left-most address, if all are trusted',
      via('10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.0/8'),
      '10.0.0.3',
    ],
    ['its trusted peer, without a header', { peer: '10.0.0.1', trusted: ['10.0.0.1'] }, '10.0.0.1'],
    ['an address that a proxy wrote with its port', via('::1', '198.51.100.9:4711', '::1'), CLIENT],
    [
      'a network that a proxy wrote in brackets',
      via('2001:db8::1', '[2001:db9::7]:4711', '2001:db8::/32'),
      '2001:db9:0:0:0:0:0:0/64',
    ],
    ['an empty name, if its connection is closed', { peer: '' }, ''],
  ])('%s', (_, input, expected) => {
    expect(addressOf(input)).toBe(expected)
  })
})

test('the first peer that sends x-forwarded-for and is not a configured proxy is reported once', () => {
  const reportedPeers: string[] = []
  const addresses = new ClientAddresses({
    trustedProxies: ['10.0.0.1'],
    ipv6PrefixBits: 64,
    onUnnamedProxy: (peerAddress) => reportedPeers.push(peerAddress),
  })
  const forwarded = { 'x-forwarded-for': CLIENT }
  addresses.of({ headers: forwarded, peerAddress: '10.0.0.1' })
  addresses.of({ headers: {}, peerAddress: '10.0.0.2' })
  expect(reportedPeers).toEqual([])
  addresses.of({ headers: forwarded, peerAddress: '::ffff:10.0.0.2' })
  addresses.of({ headers: forwarded, peerAddress: '10.0.0.2' })
  addresses.of({ headers: forwarded, peerAddress: '10.0.0.3' })
  expect(reportedPeers).toEqual(['10.0.0.2'])
})

describe('a range of addresses', () => {
  test.each([
    ['10.0.0.1', { family: 'ipv4', address: '10.0.0.1', prefixBits: 32 }],
    [' 10.0.0.0/8 ', { family: 'ipv4', address: '10.0.0.0', prefixBits: 8 }],
    ['0.0.0.0/0', { family: 'ipv4', address: '0.0.0.0', prefixBits: 0 }],
    ['::1', { family: 'ipv6', address: '::1', prefixBits: 128 }],
    ['2001:db8::/32', { family: 'ipv6', address: '2001:db8::', prefixBits: 32 }],
    ['::ffff:10.0.0.0/104', { family: 'ipv4', address: '10.0.0.0', prefixBits: 8 }],
  ])('%s is read', (text, range) => {
    expect(parseAddressRange(text)).toEqual(range)
  })

  test.each([
    '',
    'proxy',
    '10.0.0',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::ffff:10.0.0.0/8',
  ])('%j is not read', (text) => {
    expect(parseAddressRange(text)).toBeNull()
  })
})
