import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { configuredUpstreams, oneUpstream, unreadKeyNote } from './configured-upstreams.ts'

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

test.each([
  ['openai', 'https://api.openai.com/v1'],
  ['anthropic', 'https://api.anthropic.com/v1/'],
])(
  'the own address of a vendor that speaks %s needs that dialect, which the error names',
  async (dialect, address) => {
    const env = { UPSTREAM_BASE_URL: address, UPSTREAM_API_KEY: 'secret' }
    await expect(configuredUpstreams(readConfig(env), env)).rejects.toThrow(
      `set UPSTREAM_DIALECT=${dialect}`,
    )
    const named = { ...env, UPSTREAM_DIALECT: dialect }
    const configured = await configuredUpstreams(readConfig(named), named)
    expect(configured?.upstreams).toMatchObject([{ dialect, apiKey: 'secret' }])
  },
)

test.each(['https://openrouter.ai/api/v1', 'https://models.example.com/v1'])(
  'the address %s speaks the usual dialect',
  async (address) => {
    const env = { UPSTREAM_BASE_URL: address, UPSTREAM_API_KEY: 'secret' }
    const configured = await configuredUpstreams(readConfig(env), env)
    expect(configured?.upstreams).toMatchObject([{ dialect: 'openrouter' }])
  },
)

test("the simulator's upstream is named simulator, and not as the dialect that it speaks", () => {
  const simulator = { mode: 'simulator', baseUrl: 'http://127.0.0.1:8000', apiKey: 'any' } as const
  const [upstream] = oneUpstream(readConfig({}), simulator).upstreams
  expect(upstream).toMatchObject({ name: 'simulator', dialect: 'openrouter' })
})

test.each([
  ['OPENAI_API_KEY', 'UPSTREAM_DIALECT=openai'],
  ['ANTHROPIC_API_KEY', 'UPSTREAM_DIALECT=anthropic'],
  ['OPENROUTER_API_KEY', 'UPSTREAM_DIALECT=openrouter'],
])(
  "a vendor's key under its usual name, %s, is reported as unused and is not shown",
  (name, remedy) => {
    const note = unreadKeyNote({ [name]: 'sk-secret' })
    expect(note).toContain(name)
    expect(note).toContain(remedy)
    expect(note).not.toContain('sk-secret')
    expect(unreadKeyNote({ [name]: '', PATH: '/bin' })).toBeNull()
  },
)
