import { expect, test } from 'vitest'
import { ModelAccess } from './caller.ts'

const ALL = ['acme/a', 'ACME/B', 'acme/a/b', 'nova/a', 'acmes/a', 'acm/a', '__proto__/a']
const NONE = { allow: null, deny: null }

function accessOf(apiKey: { allow?: readonly string[]; deny?: readonly string[] }) {
  const written = (list?: readonly string[]) => (list === undefined ? null : JSON.stringify(list))
  const lists = { allow: written(apiKey.allow), deny: written(apiKey.deny) }
  return ModelAccess.of({ account: NONE, apiKey: lists })
}

test('a caller without lists may use every model', () => {
  expect(ModelAccess.of({ account: NONE, apiKey: NONE })).toBeNull()
})

test.each<[Parameters<typeof accessOf>[0], readonly string[]]>([
  [{ allow: ['acme/*'] }, ['acme/a', 'ACME/B', 'acme/a/b']],
  [{ allow: ['ACME/A'] }, ['acme/a']],
  [{ allow: ['acme/a', 'nova/*'] }, ['acme/a', 'nova/a']],
  [{ deny: ['acme/*'] }, ['nova/a', 'acmes/a', 'acm/a', '__proto__/a']],
  [{ allow: ['acme/*'], deny: ['acme/b'] }, ['acme/a', 'acme/a/b']],
  [{ allow: ['acme/a'], deny: ['acme/*'] }, []],
  [{ allow: ['__proto__/*', 'constructor/x'] }, ['__proto__/a']],
  [{ deny: ['*', '/*', 'a*', 'acme'] }, ALL],
])('%j lets through %j alone', (lists, modelIds) => {
  const access = accessOf(lists)
  expect(ALL.filter((modelId) => access?.mayUse(modelId))).toEqual(modelIds)
  for (const modelId of ALL) {
    const required = (): void => access?.require(modelId)
    if (modelIds.includes(modelId)) expect(required).not.toThrow()
    else expect(required).toThrow(expect.objectContaining({ code: 'model_not_allowed' }))
  }
})

test('a list that cannot be read allows no model', () => {
  for (const stored of ['{}', '[1]', 'null', '{"a":1}', '"acme/*"']) {
    const apiKey = { allow: null, deny: stored }
    expect(() => ModelAccess.of({ account: NONE, apiKey })).toThrow(TypeError)
  }
})
