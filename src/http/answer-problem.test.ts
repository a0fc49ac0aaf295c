import { expect, test } from 'vitest'
import { ReadRefused, StoreUnavailable } from '../store/store-failure.ts'
import { PROBLEMS } from '../vocabulary/problem.ts'
import { problemOf, STORE_AWAY } from './answer-problem.ts'

test('a read that took too long is refused as not retryable, and the message says what to request instead', () => {
  expect(problemOf(new ReadRefused('tooLong'))).toMatchObject({
    code: 'service_unavailable',
    httpStatus: 503,
    isFinal: true,
    message: expect.stringContaining('Ask for fewer days.'),
  })
})

test('a read behind too many others is refused with the time to retry', () => {
  expect(problemOf(new ReadRefused('tooMany'))).toMatchObject({
    code: 'service_unavailable',
    httpStatus: 503,
    isFinal: false,
    retryAfterSeconds: 2,
  })
})

test('while the store is unavailable, only inference calls are answered that inference is unavailable', () => {
  const away = new StoreUnavailable('ECONNREFUSED')
  expect(problemOf(away).message).toBe(PROBLEMS.service_unavailable.message)
  expect(problemOf(away, STORE_AWAY)).toMatchObject({
    code: 'service_unavailable',
    message: STORE_AWAY,
    retryAfterSeconds: 1,
  })
})
