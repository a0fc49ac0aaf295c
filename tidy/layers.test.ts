import { expect, test } from 'vitest'
import { checkLayers } from './layers.ts'
import { judgeToyTree } from './toy-tree.ts'

test('imports of lower rows, of the own folder and of packages pass', async () => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/vocabulary/money.ts': `import { isUtf8 } from 'node:buffer'`,
    'src/vocabulary/money.test.ts': `import { test } from 'vitest'`,
    'src/store/store.ts': `import { DatabaseSync } from 'node:sqlite'`,
    'src/ledger/ledger.ts': `import '../vocabulary/money.ts'\nimport './rows.ts'`,
    'src/ledger/rows.ts': `export * from '../store/store.ts'`,
    'src/catalog/catalog.ts': `import type { A } from '../ledger/ledger.ts'`,
    'src/cli/serve.ts': `const journey = await import('../journey/journey.ts')`,
    'src/journey/journey.ts': `new Worker(new URL('../ledger/writer.ts', import.meta.url))`,
    'src/ledger/writer.ts': '',
    'src/app/config.ts': `import '../../package.json'`,
    'src/main.ts': `import './app/config.ts'\nimport './app/serve.ts'`,
    'src/app/serve.ts': `const start = () => import('../../simulator/main.ts')`,
    'simulator/main.ts': `import './catalog.ts'\nimport { createServer } from 'node:http'`,
    'simulator/catalog.ts': '',
  })
  expect(verdict).toEqual([])
})

test.each([
  ['a static import', `import { a } from '../cli/program.ts'`],
  ['an import of types', `import type { A } from '../cli/program.ts'`],
  ['a type named in place', `let a: import('../cli/program.ts').A`],
  ['a re-export', `export { a } from '../cli/program.ts'`],
  ['a re-export of everything', `export * from '../cli/program.ts'`],
  ['an import at run time', `await import('../cli/program.ts')`],
  ['a worker', `new Worker(new URL('../cli/program.ts', import.meta.url))`],
])('%s of a room of the same row fails', async (_, text) => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/http/server.ts': `\n${text}`,
    'src/cli/program.ts': '',
  })
  expect(verdict).toEqual([
    'src/http/server.ts:2 imports ../cli/program.ts: rooms of one row never know each other',
  ])
})

test.each([
  ['src/store/store.ts', '../ledger/ledger.ts', 'imports go down, never up'],
  ['src/http/routes.ts', '../main.ts', 'imports go down, never up'],
  ['src/vocabulary/money.ts', 'kysely', 'vocabulary imports nothing but itself'],
  ['src/journey/journey.ts', '../../simulator/main.ts', 'only app/serve.ts starts the simulator'],
  ['src/journey/journey.ts', '../../test/gateway.ts', 'src/ stands alone'],
  ['src/journey/journey.ts', '../../tidy/rule.ts', 'src/ stands alone'],
  ['src/journey/journey.test.ts', '../http/routes.ts', 'imports go down, never up'],
  ['src/ledger/ledger.test.ts', '../http/testing/client.ts', 'imports go down, never up'],
  ['simulator/main.ts', '../src/vocabulary/money.ts', 'the simulator is a program of its own'],
  ['simulator/main.test.ts', '../src/main.ts', 'the simulator is a program of its own'],
])('%s may not import %s', async (path, specifier, reason) => {
  const verdict = await judgeToyTree(checkLayers, { [path]: `import '${specifier}'` })
  expect(verdict).toEqual([`${path}:1 imports ${specifier}: ${reason}`])
})

test('a folder of operations imports lower folders, and the list of operations them all', async () => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/operations/fields.ts': `import './usage/usage.ts'`,
    'src/operations/operations.ts': `import './credit/credit.ts'`,
    'src/operations/usage/usage.ts': `import '../fields.ts'\nimport './figures.ts'`,
    'src/operations/credit/credit.ts': `import '../usage/usage.ts'\nimport '../people/people.ts'`,
  })
  expect(verdict).toEqual([
    'src/operations/credit/credit.ts:2 imports ../people/people.ts: folders of operations import lower ones alone',
    'src/operations/fields.ts:1 imports ./usage/usage.ts: folders of operations import lower ones alone',
  ])
})

test('the server may not import files that are only for tests; tests may', async () => {
  const text = `import './testing/bench.ts'`
  const verdict = await judgeToyTree(checkLayers, {
    'src/ledger/ledger.ts': text,
    'src/ledger/ledger.test.ts': text,
    'src/ledger/testing/bench.ts': `import '../ledger.ts'`,
  })
  expect(verdict).toEqual([
    'src/ledger/ledger.ts:1 imports ./testing/bench.ts, which is for tests alone',
  ])
})

test('app/serve.ts may not load the simulator before it is asked for', async () => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/app/serve.ts': `import { start } from '../../simulator/main.ts'`,
  })
  expect(verdict).toEqual([
    'src/app/serve.ts:1 imports ../../simulator/main.ts at once: app/serve.ts loads the simulator lazily',
  ])
})

test('a test may look at its own row, the simulator and test/', async () => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/http/server.test.ts': `
      import './server.ts'
      import '../cli/program.ts'
      import '../store/store.ts'
      import '../../simulator/main.ts'
      import '../../test/clock.ts'
    `,
  })
  expect(verdict).toEqual([])
})

test('a folder or file that the table of rows does not know fails, and so does importing it', async () => {
  const verdict = await judgeToyTree(checkLayers, {
    'src/extras/thing.ts': '',
    'src/ledger/ledger.ts': `import '../extras/thing.ts'`,
    'src/extra.ts': '',
  })
  expect(verdict).toEqual([
    'src/extra.ts is in no row of the layers table',
    'src/extras/thing.ts is in no row of the layers table',
    'src/ledger/ledger.ts:1 imports ../extras/thing.ts, which is in no row',
  ])
})
