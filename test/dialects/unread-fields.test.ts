import { describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { startWorld } from '../world.ts'

/* A field that the gateway does not read never reaches a vendor that would obey and bill it. */

const said = (content: unknown) => ({ model: 'sim/text', messages: [{ role: 'user', content }] })

// By position: the vendor, the path, the body, and the param of the refusal where the envelope has one.
const UNREAD: readonly (readonly [VendorName, string, object, string])[] = [
  [
    'anthropic',
    '/v1/messages',
    {
      ...said('Go on.'),
      max_tokens: 9,
      thread: { type: 'continue', previous_message_id: 'msg_1' },
    },
    'thread',
  ],
  [
    'anthropic',
    '/v1/messages',
    { ...said([{ type: 'image', source: { type: 'file', file_id: 'file_1' } }]), max_tokens: 9 },
    'messages[0].content[0].source',
  ],
  [
    'openai',
    '/v1/chat/completions',
    said([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', uuid: 'a' } }]),
    'messages[0].content[0].image_url.uuid',
  ],
  [
    'openai-compatible',
    '/v1/chat/completions',
    { ...said('Say hello.'), max_tokens: 1, n_predict: 100_000 },
    'n_predict',
  ],
]

describe.each(UNREAD)('%s at %s', (vendor, path, body, param) => {
  test(`refuses \`${param}\`, eight times at once: nothing is held, and nothing is sent`, async () => {
    const world = await startWorld({ vendor })
    try {
      const { apiKey, id } = await world.account({ creditMicros: 30_000 })
      const answers = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const answer = await world.send(apiKey, body, path)
          return { httpStatus: answer.status, text: await answer.text() }
        }),
      )
      for (const { httpStatus, text } of answers) {
        expect(httpStatus, text).toBe(400)
        expect(text).toMatch(/Files are not kept|Send the whole|Set the length|is not supported/)
      }
      // Its list of models may be read at any time.
      const sent = world.simulator.requests.filter(({ isInference }) => isInference)
      expect(sent).toEqual([])
      const { requests } = await listRequests(world.gateway.store.db, { accountId: id, limit: 1 })
      expect(requests).toEqual([])
      // One line for the operator, however often it is refused.
      const lines = world.log.filter((line) => line.includes('"field refused"'))
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain(vendor)
    } finally {
      await world.close()
    }
  })
})
