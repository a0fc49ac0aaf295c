import { describe, expect, test } from 'vitest'
import { at, jsonOf, post, postAs, question, simulatorOfFile } from './test/client.ts'

const simulator = simulatorOfFile()

describe('refusals', () => {
  test.each([
    ['an unknown model', '/chat/completions', question('Hi', { model: 'sim/nothing' })],
    [
      'an embedding model asked to chat',
      '/chat/completions',
      question('Hi', { model: 'sim/embed' }),
    ],
    ['a chat model asked to embed', '/embeddings', { model: 'sim/text', input: 'x' }],
    ['a router', '/chat/completions', question('Hi', { model: 'sim/auto' })],
    ['no messages', '/chat/completions', { model: 'sim/text', messages: [] }],
    ['a message without a role', '/messages', { model: 'sim/text', messages: [{ content: 'x' }] }],
    ['a cap of zero', '/chat/completions', question('Hi', { max_tokens: 0 })],
    [
      'a prompt beyond the window',
      '/chat/completions',
      question('x'.repeat(140_000), { model: 'sim/open' }),
    ],
    ['no JSON', '/chat/completions', '{"model"'],
    [
      'tools nested beyond all bounds',
      '/chat/completions',
      `{"model":"sim/text","messages":[{"role":"user","content":"x"}],"tools":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    ],
  ])('%s: 400', async (_, path, body) => {
    expect((await post(simulator, path, body)).status).toBe(400)
  })

  test("keys that are missing, bad or broke are refused in the path's own words", async () => {
    const bare = await fetch(`${simulator.baseUrl}/chat/completions`, {
      method: 'POST',
      body: '{}',
    })
    expect(bare.status).toBe(401)
    const bad = await postAs({
      simulator,
      path: '/chat/completions',
      body: question('Hi'),
      token: 'sk-bad-key',
    })
    expect(bad.status).toBe(401)
    expect(await bad.json()).toEqual({ error: { code: 401, message: 'User not found.' } })
    const broke = await postAs({
      simulator,
      path: '/messages',
      body: question('Hi'),
      token: 'sk-broke',
    })
    expect(broke.status).toBe(402)
    expect(at(await jsonOf(broke), 'error', 'type')).toBe('billing_error')
  })

  test('an unknown path is 404', async () => {
    expect((await post(simulator, '/audio/speech', {})).status).toBe(404)
    expect((await fetch(`${simulator.baseUrl}/nothing`)).status).toBe(404)
  })
})
