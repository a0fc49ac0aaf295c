import { expect, test } from 'vitest'
import { refusalOf } from './caller.ts'

const MISSING = 'missing_api_key'
const INVALID = 'invalid_api_key'

test.each([
  ['nothing', {}, { code: MISSING }],
  [
    'a key without its scheme',
    { authorization: 'sk-tollgate-x' },
    {
      code: MISSING,
      message: 'The `authorization` header has no API key: send `Authorization: Bearer <key>`.',
    },
  ],
  [
    'a key in a header of another service',
    { 'api-key': 'sk-tollgate-x' },
    {
      code: MISSING,
      message:
        'The header `api-key` is not read: send the API key as `Authorization: Bearer <key>`.',
    },
  ],
  [
    'the key of another service',
    { authorization: 'Bearer sk-proj-x' },
    {
      code: INVALID,
      message:
        'This is not an API key of this gateway. Check it for missing characters and quotes, and that it ' +
        'is not the key of another service or an admin token.',
    },
  ],
] as const)(
  'a request with %s is refused with a message that says what to send',
  (_what, headers, refusal) => {
    expect(refusalOf(headers, false)).toEqual(refusal)
  },
)

test('an unknown key with the shape of a key has the message of its code', () => {
  expect(refusalOf({ 'x-api-key': 'sk-tollgate-x' }, true)).toEqual({ code: INVALID })
})
