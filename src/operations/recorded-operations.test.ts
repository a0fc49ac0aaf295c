import { expect, test } from 'vitest'
import { RECORDED_OPERATIONS, SIGN_IN_RECORDS } from '../vocabulary/recorded-operation.ts'
import { describedOperations } from './operations.ts'

test('every operation that changes something has its name among the recorded ones, and none else has', () => {
  const changing = describedOperations()
    .filter(({ method }) => method !== 'GET')
    .map(({ name }) => name)
  // A chat in the Playground is a request, gateways alone end sign-ins, and neither a sign-in nor the change of one's own
  // address is an operation.
  const others = ['changeEmail', 'changeName', 'endSignIn', 'playground', ...SIGN_IN_RECORDS]
  expect([...RECORDED_OPERATIONS]).toEqual([...new Set([...changing, ...others])].sort())
})
