import { describe, expect, test } from 'vitest'
import { CLIENTS, clientLines, quotedPieces } from './client-lines.ts'

const given = { baseUrl: 'https://gate.example', model: 'sim/text', apiKey: null }

describe('the lines of each client', () => {
  test.each(CLIENTS.map(({ value }) => value))('%s: name the address and the model', (client) => {
    const lines = clientLines(client, given)
    expect(lines).toContain('https://gate.example')
    expect(lines).toContain('sim/text')
  })

  test('begin with a key that was just made', () => {
    const lines = clientLines('curl', { ...given, apiKey: 'sk-tollgate-x' })
    expect(lines.split('\n')[0]).toBe('export TOLLGATE_KEY=sk-tollgate-x')
  })

  test('are whole when their pieces are joined', () => {
    for (const { value } of CLIENTS) {
      const lines = clientLines(value, given)
      expect(
        quotedPieces(lines)
          .map(({ text }) => text)
          .join(''),
      ).toBe(lines)
    }
  })
})
