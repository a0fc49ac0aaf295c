import { describe, expect, test } from 'vitest'
import { readActivitySearch, readAllActivitySearch, readOperatorActivitySearch } from './search.ts'

describe('the address of Activity', () => {
  test('is read with one filter or several, and with the open request', () => {
    expect(
      readActivitySearch({
        range: '1h',
        key: ['key_1', 'key_2'],
        state: 'final',
        tag: ['nightly', 'team:search'],
        request: 'req_1',
      }),
    ).toEqual({
      range: '1h',
      key: ['key_1', 'key_2'],
      state: ['final'],
      tag: ['nightly', 'team:search'],
      request: 'req_1',
    })
  })

  test('has upstreams for operators alone, and of all accounts keys without an account too', () => {
    const search = { upstream: 'openai', key: 'key_1', account: 'Helix Lab' }
    expect(readActivitySearch(search)).toEqual({ key: ['key_1'] })
    for (const read of [readOperatorActivitySearch, readAllActivitySearch]) {
      expect(read(search)).toEqual({ key: ['key_1'], upstream: ['openai'] })
    }
    expect(readAllActivitySearch({ account: 'acct_1' })).toEqual({ account: 'acct_1' })
  })

  test('that was typed wrong is read without its mistakes', () => {
    expect(
      readActivitySearch({
        range: 'toString',
        state: ['constructor', 'open'],
        key: 7,
        failed: 'no',
      }),
    ).toEqual({ state: ['open'] })
  })
})
