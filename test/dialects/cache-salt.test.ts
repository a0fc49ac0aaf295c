import { expect, test } from 'vitest'
import { parseObject } from '../../simulator/json-value.ts'
import { startWorld } from '../world.ts'

/* A server's cache of prompts, which is one for our key, between accounts. */

const PATHS = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'A long beginning. ' }] },
  '/v1/completions': { prompt: 'A long beginning. ' },
  '/v1/responses': { input: 'A long beginning. ', max_output_tokens: 16 },
} as const

/** A cache like vLLM's: a prompt hits only prompts that were sent with the same salt. */
class SaltedCache {
  readonly #seen = new Set<string>()

  hits(body: string): boolean {
    const { cache_salt: salt = '', messages, prompt, input } = parseObject(body) ?? {}
    const block = JSON.stringify([salt, messages, prompt, input])
    const isHit = this.#seen.has(block)
    this.#seen.add(block)
    return isHit
  }
}

test.each([
  [true, [false, false, true, true]],
  [false, [false, true, true, true]],
])(
  'with `cache_salt: %s` an account hits the cached prompts of another: %j',
  async (saltsCache, hits) => {
    const world = await startWorld({
      vendor: 'openai-compatible',
      configured: (usual) => ({ ...usual, upstreams: [{ ...usual.upstreams[0], saltsCache }] }),
    })
    try {
      const one = await world.account()
      const other = await world.account()
      for (const [path, fields] of Object.entries(PATHS)) {
        const cache = new SaltedCache()
        const seen: boolean[] = []
        for (const { apiKey } of [one, other, one, other]) {
          const answer = await world.send(apiKey, { model: 'sim/text', ...fields }, path)
          expect(answer.status, await answer.text()).toBe(200)
          const body = world.simulator.requests.at(-1)?.body.toString() ?? ''
          seen.push(cache.hits(body))
          // The tag identifies no account.
          expect(body).not.toContain(one.id)
        }
        expect(seen, path).toEqual(hits)
      }
    } finally {
      await world.close()
    }
  },
)
