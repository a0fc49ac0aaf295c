import { describe, expect, test } from 'vitest'
import { chat } from '../src/formats/chat.ts'
import { completions } from '../src/formats/completions.ts'
import { embeddings } from '../src/formats/embeddings.ts'
import type { WireFormat } from '../src/formats/format.ts'
import { images } from '../src/formats/images.ts'
import { messages } from '../src/formats/messages.ts'
import { responses } from '../src/formats/responses.ts'
import { offerWith, usd } from '../src/journey/hold-size/testing/offers.ts'
import type { OpenHoldInput } from '../src/ledger/ledger.ts'
import type { Offer } from '../src/vocabulary/offer.ts'
import { startJourneyWorld } from './journey-world.ts'
import { wholeRequest } from './raw-server.ts'

const TEXT = { messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 100 }
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }

interface Asked {
  readonly format?: WireFormat
  readonly body?: object
  readonly model?: Partial<Omit<Offer, 'prices'>>
}

/** Whether free credit may pay for it, as the ledger gets it. */
async function qualifies({ format = chat, body = TEXT, model = {} }: Asked): Promise<boolean> {
  const holds: OpenHoldInput[] = []
  const offer = offerWith({ output: usd('0.000002') }, { openWeights: true, ...model })
  const world = await startJourneyWorld({
    format,
    upstream: async (socket) => {
      await wholeRequest(socket)
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}')
    },
    replace: ({ ledger }) => ({
      offerFor: () => offer,
      ledger: {
        openHold: (hold) => {
          holds.push(hold)
          return ledger.openHold(hold)
        },
        settle: (settle) => ledger.settle(settle),
        abandon: (requestId) => ledger.abandon(requestId),
        noteGeneration: (noted) => ledger.noteGeneration(noted),
      },
    }),
  })
  const answer = await fetch(world.url, {
    method: 'POST',
    body: JSON.stringify({ model: offer.modelId, ...body }),
  })
  await answer.text()
  expect(holds).toHaveLength(1)
  return holds[0]?.freeCreditQualifies === true
}

describe('free credit can pay', () => {
  test.each<[string, Asked]>([
    ['chat', {}],
    ['completions', { format: completions, body: { prompt: 'Hi.', max_tokens: 100 } }],
    ['messages', { format: messages }],
    ['responses', { format: responses, body: { input: 'Hi.', max_output_tokens: 100 } }],
    ['a tool that the client runs', { body: { ...TEXT, tools: [{ type: 'function' }] } }],
  ])('for text of a model with open weights: %s', async (_, asked) => {
    expect(await qualifies(asked)).toBe(true)
  })
})

describe('free credit does not pay', () => {
  const drawing = { outputModalities: new Set(['text', 'image']) }
  test.each<[string, Asked]>([
    ['for a model with closed weights', { model: { openWeights: false } }],
    ['for images that are asked for', { body: { ...TEXT, modalities: ['image', 'text'] } }],
    ['for a model that may make images unasked', { model: drawing }],
    ['for a model that may speak', { model: { outputModalities: new Set(['text', 'audio']) } }],
    ['for searches', { format: messages, body: { ...TEXT, tools: [SEARCH] } }],
    [
      'for embeddings',
      {
        format: embeddings,
        body: { input: 'Hi.' },
        model: { outputModalities: new Set(['embeddings']) },
      },
    ],
    ['on images', { format: images, body: { prompt: 'A cat.' }, model: drawing }],
  ])('%s', async (_, asked) => {
    expect(await qualifies(asked)).toBe(false)
  })
})
