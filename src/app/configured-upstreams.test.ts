import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { configuredUpstreams } from './configured-upstreams.ts'

test.each([
  {},
  { UPSTREAM_BASE_URL: 'http://127.0.0.1:8000/v1' },
  { UPSTREAM_BASE_URL: 'http://127.0.0.1:8000/v1', UPSTREAM_API_KEY: 'secret' },
])('a dialect without prices needs a file, also with %j', async (others) => {
  const env = { UPSTREAM_DIALECT: 'openai-compatible', ...others }
  await expect(configuredUpstreams(readConfig(env), env)).rejects.toThrow(
    'write the upstream with its models and prices into a file, and set TOLLGATE_UPSTREAMS to it',
  )
})
