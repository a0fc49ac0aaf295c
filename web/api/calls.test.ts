import { expect, test } from 'vitest'
import { routesOfPage } from '../routes-of-page.ts'
import { hrefOf } from './calls.ts'

// As the build of the page does.
Object.assign(globalThis, { PAGE_ROUTES: routesOfPage() })

test('an operation is called at the path of the caller, with the remaining input as its query', () => {
  const moments = { since: '2026-11-01T00:00:00.000Z' }
  expect(hrefOf('member', 'downloadRequests', { account_id: 'acct_1', ...moments })).toBe(
    '/app/api/accounts/acct_1/requests.csv?since=2026-11-01T00%3A00%3A00.000Z',
  )
  expect(hrefOf('operator', 'downloadRequests', { account: 'acct_1', ...moments })).toBe(
    '/app/api/operator/requests.csv?account=acct_1&since=2026-11-01T00%3A00%3A00.000Z',
  )
})

test('a parameter of a path cannot lead to another path', () => {
  expect(hrefOf('operator', 'getOperatorRequest', { request_id: '../tokens?a=b' })).toBe(
    '/app/api/operator/requests/..%2Ftokens%3Fa%3Db',
  )
})

test('several values of a filter are one field of the query, as the API takes them', () => {
  const filters = { model: ['acme/sage', 'acme/ink'], state: null, failed: true }
  expect(hrefOf('operator', 'listOperatorRequests', filters)).toBe(
    '/app/api/operator/requests?model=acme%2Fsage%2Cacme%2Fink&failed=true',
  )
})

test('names and input follow the operation, for each of its callers', () => {
  const wrong = [
    // @ts-expect-error: no operation has this name
    () => hrefOf('operator', 'listNothing', {}),
    // @ts-expect-error: members have no list of all accounts
    () => hrefOf('member', 'listAccounts', {}),
    // @ts-expect-error: the path has an account
    () => hrefOf('member', 'listKeys', {}),
    // @ts-expect-error: `by` is one of a few words
    () => hrefOf('member', 'getUsage', { account_id: 'acct_1', by: 'moon' }),
  ]
  expect(wrong).toHaveLength(4)
})
