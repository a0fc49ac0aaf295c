import { describe, expect, test } from 'vitest'
import { CLIENTS, clientOf, clientsOf, quotedPieces } from './client-lines.ts'

const given = { baseUrl: 'https://gate.example', model: 'acme/sage' }

describe.each(CLIENTS.map(({ id }) => id))('the lines of %s', (id) => {
  const lines = clientOf(id).lines(given)

  test('name the address, the model, and the variable of the key', () => {
    expect(lines).toContain('https://gate.example')
    expect(lines).toContain('acme/sage')
    expect(lines).toContain('TOLLGATE_API_KEY')
    expect(lines).not.toMatch(/sim\/|127\.0\.0\.1/)
  })

  test('are whole when their pieces are joined', () => {
    expect(
      quotedPieces(lines)
        .map(({ text }) => text)
        .join(''),
    ).toBe(lines)
  })
})

test('a model has the lines of the clients that speak its formats, and of no other', () => {
  const ids = (...endpoints: string[]) => clientsOf(endpoints).map(({ id }) => id)
  expect(ids('messages')).toEqual(['anthropic-js', 'anthropic-python', 'claude-code'])
  expect(ids('chat', 'responses')).not.toContain('claude-code')
  expect(ids('responses')).toContain('codex')
  expect(ids('images')).toEqual(['curl-images'])
  expect(ids('embeddings')).toEqual([])
})

test("Claude Code's lines have the context window of the model, where it is known", () => {
  const { lines } = clientOf('claude-code')
  expect(lines({ ...given, contextTokens: 200_000 })).toContain(
    '\nexport CLAUDE_CODE_MAX_CONTEXT_TOKENS=200000\n',
  )
  expect(lines({ ...given, contextTokens: null })).not.toContain('CONTEXT')
  expect(lines({ ...given, contextTokens: null })).toBe(lines(given))
})

test('an address that names no client shows the first one', () => {
  expect(clientOf('no-such-client')).toBe(CLIENTS[0])
})
