import { expect, test } from 'vitest'
import { slowFirst } from './slow-first.ts'

test('each project begins with the files that kill processes or play histories, and keeps the order of the others', () => {
  const files = [
    ['one', '/src/b.test.ts'],
    ['one', '/src/a.test.ts'],
    ['one', '/src/a.model.test.ts'],
    ['one', '/src/usage/usage.test.ts'],
    ['one', '/test/crash/steps.test.ts'],
    ['one', '/test/chain/looks.test.ts'],
    ['other', '/test/contract/holds.test.ts'],
  ].map(([project = '', moduleId = '']) => ({ project, moduleId }))
  expect(slowFirst(files).map(({ project, moduleId }) => `${project} ${moduleId}`)).toEqual([
    'one /src/a.model.test.ts',
    'one /src/usage/usage.test.ts',
    'one /test/crash/steps.test.ts',
    'one /test/chain/looks.test.ts',
    'one /src/b.test.ts',
    'one /src/a.test.ts',
    'other /test/contract/holds.test.ts',
  ])
})
