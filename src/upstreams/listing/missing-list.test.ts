import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { answering } from '../../../test/raw-server.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { UpstreamRefusesAccount } from '../provider-records.ts'
import { closeOpened, serverThat } from '../testing/attempts.ts'
import { upstreamSettings } from '../testing/upstream-settings.ts'
import { writtenModel } from '../testing/written-model.ts'
import { Upstream } from '../upstream.ts'
import type { ListingSettings } from './listing.ts'

afterEach(closeOpened)

/** A model of the settings, with prices: a list has none. */
const written = (id: string) => writtenModel(id, { prices: { input: 1n, output: 1n } })

/** The models that are offered of a server that answers its list of models with this, and whose settings have models. */
async function listOf(status: string, body: string, ...ids: readonly string[]) {
  const answer = `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const { baseUrl } = await serverThat(answering(answer))
  const upstream = new Upstream(
    upstreamSettings({ baseUrl, models: ids.map(written) }),
    openaiCompatible,
  )
  onTestFinished(() => upstream.destroy())
  const { models } = await openaiCompatible.fetchModels(upstream, SETTINGS)
  return models.map(({ offer, listing }) => ({ id: offer.modelId, created: listing.created }))
}

const SETTINGS: ListingSettings = {
  upstream: 'openrouter',
  perSearchIdsAdded: new Set(),
  perSearchIdsRemoved: new Set(),
  fees: { everyModel: 500, models: new Map() },
}

test('a list of models that Gemini refuses with a 400 about the key counts as a refusal of our account', async () => {
  const message = 'API key not valid. Please pass a valid API key.'
  for (const body of [{ error: { message } }, [{ error: { code: 400, message } }]]) {
    await expect(listOf('400 Bad Request', JSON.stringify(body))).rejects.toThrow(
      UpstreamRefusesAccount,
    )
  }
  for (const body of ['{"error":"no"}', '[]', 'no', JSON.stringify({ note: message })]) {
    await expect(listOf('400 Bad Request', body)).rejects.toThrow('answers 400')
  }
})

test('a list of models has the second in which each was made, of a number and of a date', async () => {
  const made = [{ created: 5 }, { created_at: '1970-01-01T00:00:07Z' }]
  const data = made.map((fields, place) => ({ id: `m${place}`, ...fields }))
  expect(await listOf('200 OK', JSON.stringify({ data }), 'local/m0', 'local/m1')).toEqual([
    { id: 'local/m0', created: 5 },
    { id: 'local/m1', created: 7 },
  ])
})

const BODIES = ['', '404 page not found', '<h1>No</h1>', '{"error":"no"}']

describe.each(BODIES)('a list of models with the body %j', (body) => {
  test.each(['404 Not Found', '405 Method Not Allowed'])('and %s is missing', async (status) => {
    expect(await listOf(status, body, 'local/own')).toEqual([{ id: 'local/own', created: 0 }])
  })

  test.each(['401 Unauthorized', '402 Payment Required', '403 Forbidden'])(
    'and %s refuses our account',
    async (status) => {
      await expect(listOf(status, body)).rejects.toThrow(UpstreamRefusesAccount)
    },
  )

  test('and 500 is a failure with its status', async () => {
    await expect(listOf('500 Internal Server Error', body)).rejects.toThrow('answers 500')
  })

  test('and 200 is a failure', async () => {
    await expect(listOf('200 OK', body)).rejects.toThrow(Error)
  })
})
