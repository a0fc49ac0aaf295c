import { describe, expect, test } from 'vitest'
import { parseModels } from '../upstreams/openrouter/catalog.ts'
import { upstreamList, upstreamRow } from '../upstreams/openrouter/testing/upstream-list.ts'
import { writtenModel } from '../upstreams/testing/written-model.ts'
import type { Claimant, WrittenModel } from '../upstreams/upstream-settings.ts'
import { DEFAULT_CATALOG_SETTINGS } from './catalog.ts'
import { type CatalogRow, Claims } from './claims.ts'

/** The rows of an upstream that lists these ids. */
function rows(upstream: string, ...ids: readonly string[]): readonly CatalogRow[] {
  if (ids.length === 0) return []
  const settings = { ...DEFAULT_CATALOG_SETTINGS, upstream }
  const list = upstreamList(...ids.map((id) => upstreamRow({ id, canonical_slug: id })))
  return parseModels(list, settings).models.map((model) => ({ ...model, refreshedAtMs: 0 }))
}

/** An upstream that answers chats and, if nothing else is named, messages. */
function upstream(
  name: string,
  models: readonly WrittenModel[] = [],
  formats: readonly string[] = ['chat', 'messages'],
): Claimant {
  return { name, models, formats: new Set(formats) }
}

/** Each id on offer with the upstream that has it, in the order in which they are listed. */
function owners(offered: readonly CatalogRow[]): readonly string[] {
  return offered.map(({ offer }) => `${offer.modelId} at ${offer.upstream}`)
}

describe('an id belongs', () => {
  test('to the first upstream of the settings that lists it, and the other one is shadowed', () => {
    const claims = new Claims([upstream('one'), upstream('two')])
    claims.replace('two', rows('two', 'a/x', 'a/y'))
    const offered = claims.replace('one', rows('one', 'a/x'))
    expect(owners(offered)).toEqual(['a/x at one', 'a/y at two'])
    expect(claims.shadowedOf('two')).toEqual(['a/x'])
    expect(claims.shadowedOf('one')).toEqual([])
  })

  test('to the upstream that it is written for, though an earlier one lists it', () => {
    const claims = new Claims([upstream('one'), upstream('two', [writtenModel('a/x')])])
    expect(owners(claims.replace('one', rows('one', 'a/x')))).toEqual(['a/x at one'])
    expect(owners(claims.replace('two', rows('two', 'a/x')))).toEqual(['a/x at two'])
    expect(claims.shadowedOf('one')).toEqual(['a/x'])
  })

  test('to the upstream that had it, when another one begins to list it at a later refresh', () => {
    const claims = new Claims([upstream('one'), upstream('two')])
    claims.replace('one', rows('one', 'a/y'))
    claims.replace('two', rows('two', 'a/x'))
    expect(owners(claims.replace('one', rows('one', 'a/x', 'a/y')))).toEqual([
      'a/y at one',
      'a/x at two',
    ])
    expect(claims.shadowedOf('one')).toEqual(['a/x'])
  })

  test('to the next upstream that lists it, after its own no longer does, and stays there', () => {
    const claims = new Claims([upstream('one'), upstream('two')])
    claims.replace('one', rows('one', 'a/x', 'a/z'))
    claims.replace('two', rows('two', 'a/x'))
    expect(owners(claims.replace('one', rows('one', 'a/z')))).toEqual(['a/z at one', 'a/x at two'])
    expect(owners(claims.replace('one', rows('one', 'a/x', 'a/z')))).toEqual([
      'a/z at one',
      'a/x at two',
    ])
  })

  test('to no upstream after the last one no longer lists it', () => {
    const claims = new Claims([upstream('one'), upstream('two')])
    claims.replace('one', rows('one', 'a/x'))
    claims.replace('two', rows('two', 'a/y'))
    expect(owners(claims.replace('one', rows('one', 'a/z')))).toEqual(['a/z at one', 'a/y at two'])
  })
})

describe('an id belongs to two upstreams', () => {
  const chats = upstream('chats', [], ['chat', 'responses'])

  test('that answer different formats, each in its own', () => {
    const claims = new Claims([chats, upstream('messages', [], ['messages'])])
    claims.replace('chats', rows('chats', 'a/x'))
    expect(owners(claims.replace('messages', rows('messages', 'a/x')))).toEqual([
      'a/x at chats',
      'a/x at messages',
    ])
    expect(claims.shadowedOf('messages')).toEqual([])
  })

  test('also where it is written for both, and one that lists it is in the way', () => {
    const claims = new Claims([
      upstream('all'),
      upstream('chats', [writtenModel('a/x')], ['chat']),
      upstream('messages', [writtenModel('a/x')], ['messages']),
    ])
    claims.replace('all', rows('all', 'a/x'))
    claims.replace('chats', rows('chats', 'a/x'))
    expect(owners(claims.replace('messages', rows('messages', 'a/x')))).toEqual([
      'a/x at chats',
      'a/x at messages',
    ])
    expect(claims.shadowedOf('all')).toEqual(['a/x'])
  })

  test('but not to a third that answers a format of one of them', () => {
    const claims = new Claims([
      chats,
      upstream('messages', [], ['messages']),
      upstream('third', [], ['responses', 'embeddings']),
    ])
    claims.replace('chats', rows('chats', 'a/x'))
    claims.replace('third', rows('third', 'a/x'))
    expect(owners(claims.replace('messages', rows('messages', 'a/x')))).toEqual([
      'a/x at chats',
      'a/x at messages',
    ])
    expect(claims.shadowedOf('third')).toEqual(['a/x'])
  })

  test('when a later refresh of the second begins to list it: it takes no format of the first', () => {
    const claims = new Claims([upstream('messages', [], ['messages']), chats])
    claims.replace('messages', rows('messages', 'a/y'))
    claims.replace('chats', rows('chats', 'a/x'))
    expect(owners(claims.replace('messages', rows('messages', 'a/x', 'a/y')))).toEqual([
      'a/x at messages',
      'a/y at messages',
      'a/x at chats',
    ])
  })
})

test('stored models of an earlier process give way to the first list of this one', () => {
  const claims = new Claims([upstream('one'), upstream('two')])
  // The first one had not listed it when the store was written.
  claims.restore('one', rows('one', 'a/y'))
  expect(owners(claims.restore('two', rows('two', 'a/x')))).toEqual(['a/y at one', 'a/x at two'])
  expect(owners(claims.replace('one', rows('one', 'a/x', 'a/y')))).toEqual([
    'a/x at one',
    'a/y at one',
  ])
  expect(claims.rowsOf('two')).toHaveLength(1)
})
