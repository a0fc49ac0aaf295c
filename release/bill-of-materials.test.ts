import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ALLOWED_LICENCES, type Bill, billOfMaterials } from './bill-of-materials.ts'
import { lockOfUsers } from './lock-of-users.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const BILL = {
  serialNumber: 'urn:uuid:1',
  metadata: { timestamp: '2026-11-25T00:00:00Z', component: { name: 'some-folder' } },
  components: [{ name: 'a', version: '1.0.0', licenses: [{ license: { id: 'MIT' } }] }],
} satisfies Bill

test('a bill has neither a time nor a random number, nor the name of the folder', () => {
  const { components } = BILL
  expect(billOfMaterials(BILL)).toEqual({
    metadata: { component: { name: 'tollgate' } },
    components,
  })
})

test.each([
  ['GPL-3.0-only', [{ license: { id: 'GPL-3.0-only' } }]],
  ['See LICENSE', [{ license: { name: 'See LICENSE' } }]],
  ['MIT OR GPL-2.0', [{ expression: 'MIT OR GPL-2.0' }]],
  ['none', undefined],
])('no bill is made of a package whose licence is %s', (licence, licenses) => {
  const component = { name: 'b', version: '2.0.0', ...(licenses === undefined ? {} : { licenses }) }
  const bill = { ...BILL, components: [...BILL.components, component] }
  expect(() => billOfMaterials(bill)).toThrow(`b (${licence})`)
})

test('docs/decisions/dependencies.md lists the licence of every package of users', () => {
  const { packages } = lockOfUsers(JSON.parse(read('package-lock.json')))
  const named = new Map<string, Set<string>>()
  for (const [path, { license = 'none' }] of Object.entries(packages)) {
    if (path === '') continue
    const name = path.replace(/^.*node_modules\//, '')
    named.set(license, (named.get(license) ?? new Set()).add(name))
  }
  const rows = [...named]
    .toSorted(([, a], [, b]) => b.size - a.size)
    .map(([licence, names]) => {
      return `| ${licence} | ${[...names]
        .toSorted()
        .map((name) => `\`${name}\``)
        .join(' ')} |`
    })
  expect(ALLOWED_LICENCES).toEqual(expect.arrayContaining([...named.keys()]))
  const [, table = ''] = read('docs/decisions/dependencies.md').split('## Licences')
  expect(table.match(/^\| (?!Licence|---).*$/gm)?.join('\n')).toBe(rows.join('\n'))
})
