import { gzipSync } from 'node:zlib'
import { makeApiKey } from '../src/ledger/api-keys.ts'
import { DEFAULT_PUBLIC_NAMES } from '../src/vocabulary/public-names.ts'

/** The accounts that attack. `much Activity`: the account has credit, and many requests of the past. */
export type Attacker = 'almost no credit' | 'no credit' | 'much Activity' | 'nobody'

/** One try of an attack: the bytes that are written, and the next step. */
export interface Shot {
  /** Written one after the other, as fast as the gateway reads. */
  readonly pieces: Iterable<Buffer>
  /**
   * `wait`: waits for the status of an answer, or for the end; `hangUp`: ends its side at once and waits
   * for the other's.
   */
  readonly afterwards: 'wait' | 'hangUp'
  /** The wait after each piece. Default 0. */
  readonly pauseMs?: number
}

/** Something that a hostile client does over and over. */
export interface Attack {
  readonly name: string
  readonly by: Attacker
  /** How many do it at once: by a key, as many as the key may have in flight. */
  readonly connections: number
  /** Makes the bytes that are sent with a key. Expensive parts are made here, once. */
  aim(target: { readonly host: string; readonly apiKey: string }): () => Shot
}

const MB = 1024 * 1024
const CHAT = '/v1/chat/completions'
const COMPLETIONS = '/v1/completions'
const KEY_IN_FLIGHT = 8
const PIPELINED = 64

interface Head {
  readonly host: string
  readonly apiKey: string
  readonly path: string
  readonly fields: Readonly<Record<string, string | number>>
  /** Default POST. */
  readonly method?: 'GET' | 'POST'
}

function headOf({ host, apiKey, path, fields, method = 'POST' }: Head): Buffer {
  const all = { host, authorization: `Bearer ${apiKey}`, ...fields }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
}

interface GzipInput {
  readonly name: string
  readonly path: string
  /** Before it is packed. */
  readonly body: () => Buffer
}

/** A body that is small on the wire and large in memory. */
function gzipped({ name, path, body }: GzipInput): Attack {
  return {
    name,
    by: 'almost no credit',
    connections: KEY_IN_FLIGHT,
    aim(target) {
      const packed = gzipSync(body())
      const fields = { 'content-encoding': 'gzip', 'content-length': packed.length }
      const pieces = [headOf({ ...target, path, fields }), packed]
      return () => ({ pieces, afterwards: 'wait' })
    },
  }
}

interface Repeated {
  readonly piece: Buffer
  readonly times: number
  readonly tail?: Buffer
}

function* repeated(head: Buffer, { piece, times, tail }: Repeated): Generator<Buffer> {
  yield head
  for (let count = 0; count < times; count++) yield piece
  if (tail !== undefined) yield tail
}

function withBody(before: string, { item, bytes }: { item: string; bytes: number }): Buffer {
  return Buffer.from(`${before}${item.repeat(Math.floor(bytes / item.length))}`)
}

const ONE_BYTE_CHUNKS: Attack = {
  name: '8 MB in chunks of one byte',
  by: 'almost no credit',
  connections: KEY_IN_FLIGHT,
  aim(target) {
    const head = headOf({ ...target, path: CHAT, fields: { 'transfer-encoding': 'chunked' } })
    const piece = Buffer.from('1\r\n \r\n'.repeat(8_192))
    const tail = Buffer.from('0\r\n\r\n')
    return () => ({
      pieces: repeated(head, { piece, times: (8 * MB) / 8_192, tail }),
      afterwards: 'wait',
    })
  },
}

interface Upload {
  readonly name: string
  readonly by: Attacker
  /** The size that its head declares; `sentBytes` is the part that is really sent. Null: it comes in chunks. */
  readonly declaredBytes: number | null
  readonly sentBytes: number
  readonly afterwards: Shot['afterwards']
}

/** Spaces, written as fast as the gateway reads. */
function upload({ name, by, declaredBytes, sentBytes, afterwards }: Upload): Attack {
  return {
    name,
    by,
    connections: KEY_IN_FLIGHT,
    aim(target) {
      const fields: Head['fields'] =
        declaredBytes === null
          ? { 'transfer-encoding': 'chunked' }
          : { 'content-length': declaredBytes }
      const head = headOf({ ...target, path: CHAT, fields })
      const spaces = Buffer.alloc(64 * 1024, ' ')
      const chunk = Buffer.concat([Buffer.from('10000\r\n'), spaces, Buffer.from('\r\n')])
      const piece = declaredBytes === null ? chunk : spaces
      const times = sentBytes / spaces.length
      return () => ({ pieces: repeated(head, { piece, times }), afterwards })
    },
  }
}

const UNKNOWN_KEYS: Attack = {
  name: 'keys of nobody',
  by: 'nobody',
  connections: 16,
  aim: ({ host }) => {
    const body = Buffer.from('{}')
    const fields = { 'content-length': body.length }
    return () => {
      const apiKey = makeApiKey(DEFAULT_PUBLIC_NAMES.keyTag).text
      return { pieces: [headOf({ host, apiKey, path: CHAT, fields }), body], afterwards: 'wait' }
    }
  },
}

const PIPELINING: Attack = {
  name: `${PIPELINED} requests sent ahead of their answers`,
  by: 'almost no credit',
  connections: KEY_IN_FLIGHT,
  aim(target) {
    const body = Buffer.from('{}')
    const head = headOf({ ...target, path: CHAT, fields: { 'content-length': body.length } })
    const all = Buffer.concat(Array.from({ length: PIPELINED }, () => [head, body]).flat())
    return () => ({ pieces: [all], afterwards: 'wait' })
  },
}

const DROPPED: Attack = {
  name: 'connections that are opened and dropped',
  by: 'nobody',
  connections: 64,
  aim: () => () => ({ pieces: [], afterwards: 'hangUp' }),
}

const PAUSE_MS = 1_000

function* bytesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1)
}

const SLOW_HEADS: Attack = {
  name: '512 connections that send a byte of a head each second',
  by: 'nobody',
  connections: 512,
  aim({ host, apiKey }) {
    const head = headOf({ host, apiKey, path: CHAT, fields: {} })
    return () => ({ pieces: bytesOf(head), afterwards: 'wait', pauseMs: PAUSE_MS })
  },
}

const SLOW_BODIES: Attack = {
  name: 'bodies of 30 MB that come a byte a second',
  by: 'almost no credit',
  connections: KEY_IN_FLIGHT,
  aim(target) {
    const head = headOf({ ...target, path: CHAT, fields: { 'content-length': 30 * MB } })
    const piece = Buffer.from(' ')
    return () => ({
      pieces: repeated(head, { piece, times: 3_600 }),
      afterwards: 'wait',
      pauseMs: PAUSE_MS,
    })
  },
}

const WRONG_PASSWORDS: Attack = {
  name: 'passwords of nobody',
  by: 'nobody',
  connections: 64,
  aim({ host, apiKey }) {
    let count = 0
    return () => {
      const email = `nobody${++count}@example.org`
      const body = Buffer.from(JSON.stringify({ email, password: 'correct horse battery' }))
      const json = { origin: `http://${host}`, 'content-type': 'application/json' }
      const fields = { ...json, 'content-length': body.length }
      const head = headOf({ host, apiKey, path: '/app/api/auth/sign-in', fields })
      return { pieces: [head, body], afterwards: 'wait' }
    }
  },
}

/** Something that is read of an account with much Activity, again as soon as it was answered. */
function reading(name: string, path: string): Attack {
  return {
    name,
    by: 'much Activity',
    connections: 64,
    aim({ host, apiKey }) {
      const head = headOf({ host, apiKey, path, fields: {}, method: 'GET' })
      return () => ({ pieces: [head], afterwards: 'wait' })
    },
  }
}

/**
 * The worst that is known of what a client can send: what costs the gateway much and the client little.
 * None of it ever opens a hold. Many of them are answered 429 once an address or a key has used up its minute.
 */
export const ATTACKS: readonly Attack[] = [
  gzipped({
    name: 'arrays 16 million deep, in 31 KB of gzip',
    path: CHAT,
    body: () => withBody('', { item: '[', bytes: 16 * MB }),
  }),
  gzipped({
    name: '30 MB of empty objects, in gzip',
    path: CHAT,
    body: () => withBody('{"model":"sim/text","messages":[', { item: '{},', bytes: 30 * MB }),
  }),
  gzipped({
    name: '2,000,000 token ids, in gzip',
    path: COMPLETIONS,
    body: () =>
      Buffer.concat([
        withBody('{"model":"sim/unknown-window","max_tokens":16,"prompt":[', {
          item: '7,',
          bytes: 4_000_000,
        }),
        Buffer.from('7]}'),
      ]),
  }),
  gzipped({
    name: '30 MB of text, in gzip',
    path: CHAT,
    body: () =>
      Buffer.concat([
        withBody(
          '{"model":"sim/unknown-window","max_tokens":16,"messages":[{"role":"user","content":"',
          { item: 'lorem ipsum ', bytes: 30 * MB },
        ),
        Buffer.from('"}]}'),
      ]),
  }),
  ONE_BYTE_CHUNKS,
  upload({
    name: '30 MB whose last byte never comes',
    by: 'almost no credit',
    declaredBytes: 30 * MB + 1,
    sentBytes: 30 * MB,
    afterwards: 'wait',
  }),
  upload({
    name: 'uploads that end after 1 MB of 30',
    by: 'almost no credit',
    declaredBytes: 30 * MB,
    sentBytes: MB,
    afterwards: 'hangUp',
  }),
  upload({
    name: '20 MB by an account without credit',
    by: 'no credit',
    declaredBytes: 20 * MB,
    sentBytes: 20 * MB,
    afterwards: 'wait',
  }),
  upload({
    name: '33 MB, which is more than a body can have, in chunks',
    by: 'almost no credit',
    declaredBytes: null,
    sentBytes: 33 * MB,
    afterwards: 'wait',
  }),
  UNKNOWN_KEYS,
  PIPELINING,
  DROPPED,
  SLOW_HEADS,
  SLOW_BODIES,
  WRONG_PASSWORDS,
  reading('usage of 30 days by tag', '/v1/usage?by=tag'),
  reading('searches that find nothing', '/v1/requests?model=acme/none'),
]
