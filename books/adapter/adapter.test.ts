import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { main } from '../cli.ts'
import { readAdapter } from './adapter.ts'
import { fill } from './steps.ts'

const folder = mkdtempSync(join(tmpdir(), 'books-adapter-'))
afterAll(() => rmSync(folder, { recursive: true }))

const WHOLE = `gateway: g
version: "1"
model: m
url: http://127.0.0.1:1
new_key: [{ post: /keys, body: { max: "{dollars}" }, keep: { key: key } }]
spent: { get: "/spent?key={key}", value: spent }
`

function written(text: string): string {
  const file = join(folder, 'a.yaml')
  writeFileSync(file, text)
  return file
}

const FAULTS: readonly (readonly [string, string, RegExp])[] = [
  [
    'an unknown section',
    `${WHOLE}spend: {}\n`,
    /a\.yaml:7 spend is no key of an adapter\. These are: .*spent/,
  ],
  [
    'an unknown key of a step',
    WHOLE.replace('keep', 'keeps'),
    /a\.yaml:5 keeps is no key of new_key\. These are: .*keep/,
  ],
  [
    'a template without a value',
    WHOLE.replace('{key}', '{kee}'),
    /a\.yaml:6 \{kee\} has no value\. These have: .*key/,
  ],
  ['a missing section', WHOLE.replace(/new_key.*\n/, ''), /new_key is missing/],
  ['no YAML', 'a: [', /a\.yaml:1 /],
  [
    'a release with stolen credentials in it',
    WHOLE.replace('gateway: g', 'gateway: litellm').replace('"1"', '1.82.7'),
    /not to be run/,
  ],
]

test.each(FAULTS)(
  '%s is named with its file and line, before anything starts',
  async (_, text, message) => {
    const file = written(text)
    expect(() => readAdapter(file, 'default')).toThrow(message)
    expect(await main(['run', file, '--busy', '--yes'])).toBe(3)
  },
)

test('every command of an adapter and of its steps is shown before any runs', () => {
  const file = written(
    `${WHOLE.replace('post: /keys', 'run: first')}install: [second]\nrows: { run: third, each: a, cost: b }\n`,
  )
  const program = join(import.meta.dirname, '..', 'bin', 'gateway-books.js')
  const { stdout, status } = spawnSync(process.execPath, [program, 'run', file])
  expect(stdout.toString().split('\n').slice(1, -1)).toEqual(['  second', '  first', '  third'])
  expect(status).toBe(3)
})

test('an address that is not this machine is refused', async () => {
  const file = written(WHOLE.replace('127.0.0.1:1', 'gateway.example.com'))
  expect(await main(['run', file, '--busy', '--yes'])).toBe(3)
})

test('a body that is one template of money has a number, and other texts stay texts', () => {
  const values = { micros: '3500', dollars: '0.0035', key: '17' }
  expect(fill({ a: ['{micros}', '{dollars}'], b: '{key}', c: 'x{micros}' }, values)).toEqual({
    a: [3_500, 0.0035],
    b: '17',
    c: 'x3500',
  })
})

test('the settings of a variant can have templates of their own', () => {
  expect(fill('{store}', { store: 'sqlite:{dir}/a.db', dir: '/tmp/a' })).toBe('sqlite:/tmp/a/a.db')
})

test('each adapter of the package can be read, in each of its variants', () => {
  const adapters = join(import.meta.dirname, '..', 'adapters')
  for (const name of readdirSync(adapters)) {
    const file = join(adapters, name)
    const { variants } = parse(readFileSync(file, 'utf8'))
    for (const variant of Object.keys(variants))
      expect(readAdapter(file, variant).docs).not.toBe('')
  }
})
