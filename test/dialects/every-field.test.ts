import { beforeAll, describe, expect, test } from 'vitest'
import type { VendorName } from '../../simulator/vendors.ts'
import { FORMATS } from '../../src/formats/formats.ts'
import { listRequests } from '../../src/ledger/activity/activity.ts'
import { anthropic } from '../../src/upstreams/anthropic/anthropic.ts'
import { openai } from '../../src/upstreams/openai/openai.ts'
import { openaiCompatible } from '../../src/upstreams/openai-compatible/openai-compatible.ts'
import { worldOfFile } from '../world.ts'
import { valuesOf } from './field-values.ts'
import { type Format, SPOKEN } from './vendor-settings.ts'

/* Each row of the tables of fields, through a gateway: a refused field is neither held nor sent, an allowed one is unchanged. */

const DIALECTS = { openai, anthropic, 'openai-compatible': openaiCompatible }

/** The text of a request, with escapes and spaces that only its own bytes keep. */
const LEAST: Readonly<Record<Format, string>> = {
  chat: String.raw`"messages": [{"role":"user","content":"n\u00e9 \/"}]`,
  completions: String.raw`"prompt": "n\u00e9 \/"`,
  responses: String.raw`"input": [{"role":"user","content":"n\u00e9 \/"}], "max_output_tokens": 60`,
  messages: String.raw`"messages": [{"role":"user","content":"n\u00e9 \/"}], "max_tokens": 4000`,
  embeddings: String.raw`"input": "n\u00e9 \/"`,
}
const OF_LEAST = new Set(['messages', 'prompt', 'input', 'model', 'stream', 'stream_options'])

/** Fields that the gateway sets or replaces, and fields that another endpoint of the interface refuses everywhere. */
const REWRITTEN = new Set([
  'user',
  'store',
  'service_tier',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
])

function tableOf(vendor: VendorName, format: Format) {
  return Object.entries(DIALECTS[vendor].wires.get(format)?.fields ?? {})
}

describe.each<VendorName>(['openai', 'anthropic', 'openai-compatible'])('%s', (vendor) => {
  let key: { readonly id: string; readonly apiKey: string }

  const world = worldOfFile(() => ({
    vendor,
    settings: { TOLLGATE_REQUESTS_PER_MINUTE: '100000' },
  }))
  beforeAll(async () => {
    key = await world.account({ creditMicros: 1_000_000_000 })
  })

  const pathOf = (format: Format): string =>
    FORMATS.find(({ endpoint }) => endpoint === format)?.path ?? ''
  const modelOf = (format: Format): string => (format === 'embeddings' ? 'sim/embed' : 'sim/text')

  async function send(format: Format, members: string) {
    const body = `{"model": "${modelOf(format)}", ${LEAST[format]}${members}}`
    const answer = await world.send(key.apiKey, body, pathOf(format))
    return { httpStatus: answer.status, text: await answer.text() }
  }

  const sentSoFar = (): number =>
    world.simulator.requests.filter(({ isInference }) => isInference).length

  describe.each(SPOKEN[vendor])('%s', (format) => {
    const refused = tableOf(vendor, format).filter(([, { use }]) => use === 'refused')

    test('refuses each field of a refused row by name, without a hold and without a call', async () => {
      const before = sentSoFar()
      const names = [...refused.map(([name]) => name), 'a_field_of_tomorrow']
      for (const name of names) {
        const { httpStatus, text } = await send(format, `, "${name}": {"a": 1}`)
        expect([name, httpStatus], text).toEqual([name, 400])
        const { error } = JSON.parse(text)
        expect(error.message, name).toMatch(/^[A-Z`].*\.$/)
        if (format === 'messages') continue
        // Some are of a wrong type before they are of a refused field.
        expect([name, error.param], text).toEqual([name, name])
      }
      expect(sentSoFar()).toBe(before)
      const { requests } = await listRequests(world.gateway.store.db, {
        accountId: key.id,
        endpoint: [format],
        limit: 1,
      })
      expect(requests).toEqual([])
    })

    test("sends a body with every allowed field, byte for byte except for the gateway's fields", async () => {
      const rows = tableOf(vendor, format).filter(
        ([name, { use }]) => use !== 'refused' && !OF_LEAST.has(name) && !REWRITTEN.has(name),
      )
      const members = rows.flatMap(([name]) => {
        const [value] = valuesOf(name, format) ?? [`of ${name}`]
        return value === undefined ? [] : [`"${name}" :  ${JSON.stringify(value)}`]
      })
      const body = `, ${members.join(' ,\t')}`
      const { text } = await send(format, body)
      const sent = world.simulator.requests.filter(({ isInference }) => isInference).at(-1)
      const bytes = sent?.body.toString() ?? ''
      expect(bytes, text).toContain(LEAST[format].slice(0, LEAST[format].indexOf(', "max')))
      for (const member of members) expect(bytes, text).toContain(member)
      // And null is as good as absent, for any field.
      await send(format, ', "a_field_of_tomorrow": null, "n_predict": null')
      const last = world.simulator.requests.filter(({ isInference }) => isInference).at(-1)
      expect(last?.body.toString()).toContain('"n_predict": null')
    })
  })
})
