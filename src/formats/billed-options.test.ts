import { describe, expect, test } from 'vitest'
import { chat } from './chat.ts'
import { FORMATS } from './formats.ts'
import { callOf, LEAST_BODIES, refusalOf } from './testing/exchange.ts'

type Members = { readonly [member: string]: unknown }

describe.each(FORMATS.map((format) => [format.endpoint, format] as const))('on %s', (_, format) => {
  const callWith = (members: Members) =>
    callOf(format, { ...LEAST_BODIES[format.endpoint], ...members })

  test.each([
    ['priority', true],
    ['fast', true],
    ['turbo', true],
    ['Default', true],
    [7, true],
    [null, false],
    ['auto', false],
    ['default', false],
    ['standard', false],
    ['standard_only', false],
    ['flex', false],
    ['batch', false],
  ])('a service tier of %j may cost more than the listed price: %j', (tier, priorityTier) => {
    expect(callWith({ service_tier: tier }).priorityTier).toBe(priorityTier)
  })

  test.each([
    [{ speed: 'fast' }, true],
    [{ speed: 'fast', service_tier: 'flex' }, true],
    [{ speed: 'standard' }, false],
    [{ speed: 1.25 }, false],
  ])('the tier of %j may cost more: %j', (members, priorityTier) => {
    expect(callWith(members).priorityTier).toBe(priorityTier)
  })

  test.each([
    [{ reasoning: { max_tokens: 2_000 } }, 2_000],
    [{ thinking: { type: 'enabled', budget_tokens: 3_000 } }, 3_000],
    [{ reasoning: { max_tokens: 2_000 }, thinking: { budget_tokens: 1_000 } }, 2_000],
    [{ reasoning: { max_tokens: 0 } }, 0],
    [{ reasoning: { effort: 'high', max_tokens: null } }, 0],
    [{ reasoning: null, thinking: null }, 0],
    [{ thinking: { type: 'adaptive' } }, 0],
  ])('%j may reason for %j tokens', (members, reasoningTokens) => {
    expect(callWith(members).reasoningTokens).toBe(reasoningTokens)
  })

  test('a prediction counts as separate tokens, and null predicts nothing', () => {
    const predicted = (content: unknown) =>
      callWith({ prediction: { type: 'content', content } }).predictionTokens
    expect(predicted('ab '.repeat(1_000))).toBeGreaterThan(1_000)
    expect(predicted([{ type: 'text', text: '7'.repeat(3_000) }])).toBeGreaterThanOrEqual(3_000)
    expect(predicted('')).toBeGreaterThan(0)
    expect(callWith({ prediction: null }).predictionTokens).toBe(0)
    expect(callWith({}).predictionTokens).toBe(0)
  })

  test.each([
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, true],
    [
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact' }] } },
      true,
    ],
    [{ context_management: [{ type: 'compaction', compact_threshold: 1_000 }] }, true],
    [{ compaction: { threshold: 1_000 } }, true],
    [{ context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, false],
    [{ context_management: { edits: [] } }, false],
    [{ context_management: null, compaction: null }, false],
  ])('with %j the conversation may be summarized: %j', (members, compacts) => {
    expect(callWith(members).compacts).toBe(compacts)
  })

  test.each([
    [{ max_tool_calls: -1 }, 'max_tool_calls'],
    [{ max_tool_calls: '5' }, 'max_tool_calls'],
    [{ max_tool_calls: [5] }, 'max_tool_calls'],
    [{ max_tool_calls: 1.5, stop_server_tools_when: [{}] }, 'max_tool_calls'],
    [{ reasoning: 'high' }, 'reasoning'],
    [{ reasoning: { max_tokens: '2000' } }, 'reasoning.max_tokens'],
    [{ reasoning: { max_tokens: -1 } }, 'reasoning.max_tokens'],
    [{ thinking: true }, 'thinking'],
    [{ thinking: { budget_tokens: 1.5 } }, 'thinking.budget_tokens'],
  ])('%j has the wrong type', (members, param) => {
    expect(refusalOf(() => callWith(members))).toEqual({ code: 'invalid_parameter', param })
  })
})

test.each([
  [{ thinking_budget: 500, reasoning_budget_tokens: 700 }, 700],
  [{ thinking_token_budget: 1e300 }, Number.MAX_SAFE_INTEGER],
  [{ thinking_budget_tokens: 2 ** 53 }, Number.MAX_SAFE_INTEGER],
  [{ thinking_budget: -1, thinking_budget_tokens: '9', reasoning_budget_tokens: 1.5 }, 0],
])('%j lets a chat think for %j tokens in addition to the cap', (members, thinkingTokens) => {
  expect(callOf(chat, { ...LEAST_BODIES['chat'], ...members }).thinkingTokens).toBe(thinkingTokens)
})
