import { expect, test } from 'vitest'
import { ReadRefused } from '../store/store-failure.ts'
import { problemOf } from './answer-problem.ts'

test('a read that took too long is refused for good, and says what to ask for', () => {
  expect(problemOf(new ReadRefused('tooLong'))).toMatchObject({
    code: 'service_unavailable',
    httpStatus: 503,
    isFinal: true,
    message: expect.stringContaining('Ask for fewer days.'),
  })
})

test('a read behind too many others says when to come back', () => {
  expect(problemOf(new ReadRefused('tooMany'))).toMatchObject({
    code: 'service_unavailable',
    httpStatus: 503,
    isFinal: false,
    retryAfterSeconds: 2,
  })
})
