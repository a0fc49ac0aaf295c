import { describe, expect, test } from 'vitest'
import { bodyOf } from '../../formats/testing/exchange.ts'
import type { JsonObject } from '../../json/walk.ts'
import { chat } from './chat.ts'
import { messages } from './messages.ts'
import { readServedTier } from './reported.ts'
import { responses } from './responses.ts'

describe('the tier that an answer was served at', () => {
  test.each<[JsonObject, 'priority' | 'standard' | undefined]>([
    [{ service_tier: 'priority' }, 'priority'],
    [{ service_tier: 'fast' }, 'priority'],
    [{ service_tier: 'default' }, 'standard'],
    [{ service_tier: 'flex' }, 'standard'],
    [{ service_tier: 'standard', speed: 'fast' }, 'priority'],
    [{ service_tier: 'priority', speed: 'standard' }, 'priority'],
    [{ speed: 'standard' }, 'standard'],
    [{ service_tier: 'auto' }, undefined],
    [{ service_tier: null, speed: null }, undefined],
    [{ service_tier: 7 }, undefined],
    [{}, undefined],
  ])('in %j is %s', (owner, tier) => {
    expect(readServedTier(owner).servedTier).toBe(tier)
  })

  test.each([
    ['chat', chat, { service_tier: 'priority' }],
    ['responses', responses, { service_tier: 'priority', output: [] }],
    ['messages', messages, { usage: { service_tier: 'standard', speed: 'fast' } }],
  ])('is read from a whole answer of %s', (_, format, answer) => {
    expect(format.readAnswer(bodyOf(answer)).reported.servedTier).toBe('priority')
  })

  test.each([
    [
      'chat',
      chat,
      [
        { id: 'gen-1', service_tier: 'auto', choices: [] },
        { id: 'gen-1', service_tier: 'default', choices: [], usage: { prompt_tokens: 1 } },
      ],
    ],
    [
      'responses',
      responses,
      [
        { type: 'response.created', response: { service_tier: 'priority' } },
        { type: 'response.completed', response: { service_tier: 'default' } },
      ],
    ],
    [
      'messages',
      messages,
      [
        { type: 'message_start', message: { usage: { service_tier: 'standard' } } },
        { type: 'message_delta', delta: {}, usage: { output_tokens: 5 } },
      ],
    ],
  ])('is the last one that a stream of %s names', (_, format, events) => {
    const observer = format.observeStream({})
    for (const event of events) observer.onEvent({ name: null, data: JSON.stringify(event) })
    expect(observer.reported().servedTier).toBe('standard')
  })
})
