import { expect, test } from 'vitest'
import { micros } from '../src/vocabulary/money.ts'
import { worldOfFile } from './world.ts'

/** The advice in refusals for too little credit: each way that it names lowers the hold of that request. */

const world = worldOfFile()

const CHAT = { model: 'sim/text', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1_000 }
const SEARCH = { tools: [{ type: 'web_search' }] }

const ADVICE: readonly (readonly [string, string, object, string])[] = [
  [
    'a chat',
    '/v1/chat/completions',
    CHAT,
    'Add credit, lower the output cap or shorten the input.',
  ],
  [
    'a chat with several answers',
    '/v1/chat/completions',
    { ...CHAT, n: 3 },
    'Add credit, lower the output cap, ask for fewer answers or shorten the input.',
  ],
  [
    'a search',
    '/v1/chat/completions',
    { ...CHAT, ...SEARCH },
    'Add credit, lower the output cap, leave out the web search or shorten the input.',
  ],
  [
    'embeddings',
    '/v1/embeddings',
    { model: 'sim/embed', input: 'a'.repeat(9_000) },
    'Add credit or shorten the input.',
  ],
  ['an image', '/v1/images', { model: 'sim/image', prompt: 'A fjord' }, 'Add credit.'],
  [
    'several images',
    '/v1/images',
    { model: 'sim/image', prompt: 'A fjord', n: 2 },
    'Add credit or ask for fewer images.',
  ],
]

test.each(ADVICE)('a hold that does not fit, for %s at %s', async (_, path, body, advice) => {
  const { apiKey } = await world.account({ creditMicros: 20 })
  const answer = await world.send(apiKey, body, path)
  expect([answer.status, await answer.text()]).toEqual([
    402,
    expect.stringContaining(`the account has $0.00002 available. ${advice}`),
  ])
})

const OPEN = { ...CHAT, model: 'sim/open' }

test.each([
  ['closed weights', CHAT, 'this request. Add paid credit, or use a text model with open weights.'],
  ['a search', { ...OPEN, ...SEARCH }, 'web search. Add paid credit, or leave out the web search.'],
  [
    'an image',
    { ...OPEN, modalities: ['image', 'text'] },
    'images or audio. Add paid credit, or leave out `modalities`.',
  ],
  [
    'a search and an image',
    { ...OPEN, ...SEARCH, modalities: ['image', 'text'] },
    'web search or images or audio. Add paid credit, or leave out the web search and `modalities`.',
  ],
])('free credit that does not pay for %s says so', async (_, body, text) => {
  const { id, apiKey } = await world.account({ creditMicros: 0 })
  await world.gateway.ledger.addCredit({
    accountId: id,
    purse: 'free',
    amountMicros: micros(1_000_000),
    expiresAtMs: Date.parse('2999-01-01'),
    reference: 'test',
  })
  const answer = await world.send(apiKey, body)
  expect([answer.status, await answer.text()]).toEqual([
    402,
    expect.stringContaining(`The account has only free credit, which does not pay for ${text}`),
  ])
})
