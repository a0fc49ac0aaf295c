import { expect, test } from 'vitest'
import { setUpOperator } from '../page/page-client.ts'
import { startWorld } from '../world.ts'

test('a model that is not offered, and an alias that leads nowhere, are logged once, with the reason, which operators read on the page', async () => {
  const token = 'a-token-of-the-settings'
  const world = await startWorld({
    vendor: 'openai',
    settings: { ADMIN_API_TOKEN: token },
    configured: (usual) => {
      const [only] = usual.upstreams
      const models = only.models.filter(({ id }) => id !== 'sim/open')
      const aliases = new Map([
        ['good', 'sim/text'],
        ['lost', 'sim/none'],
      ])
      return { ...usual, upstreams: [{ ...only, models }], aliases }
    },
  })
  try {
    const refresh = await fetch(world.url('/v1/admin/catalog/refresh'), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(refresh.status).toBe(200)
    const lines = world.log.map((line) => JSON.parse(line))
    const skipped = lines.filter(({ msg }) => msg === 'model not offered')
    const ofOpen = skipped.filter(({ model }) => model === 'openai/open')
    expect(ofOpen).toEqual([
      expect.objectContaining({
        upstream: 'openai',
        why: expect.stringMatching(/^no price is known/),
      }),
    ])
    expect(new Set(skipped.map(({ model }) => model)).size).toBe(skipped.length)
    const operator = await setUpOperator(world)
    const { json } = await operator.get('operator/models')
    const [reason] = ofOpen.map(({ why }) => why)
    expect(json['not_offered']).toContainEqual({
      upstream: 'openai',
      model: 'openai/open',
      why: reason,
    })
    const [first] = json['data'] as readonly object[]
    expect(first).toMatchObject({ upstream: 'openai', stale: false, doubted: false })
    const { created_at_ms: seenMs } = await world.gateway.store.db
      .selectFrom('price_snapshots')
      .select('created_at_ms')
      .where('model_id', '=', Object(first).id)
      .executeTakeFirstOrThrow()
    expect(Object(first).prices_first_seen_at).toBe(new Date(seenMs).toISOString())
    expect(lines.filter(({ alias }) => alias !== undefined)).toEqual([
      expect.objectContaining({ alias: 'lost', model: 'sim/none', level: 40 }),
    ])
  } finally {
    await world.close()
  }
})

test('models whose weights the settings call open are so for members and operators, like those with an ID at Hugging Face', async () => {
  for (const vendor of ['openai', undefined] as const) {
    const world = await startWorld(vendor === undefined ? {} : { vendor })
    try {
      const operator = await setUpOperator(world)
      const { id } = await world.account()
      for (const path of ['operator/models', `accounts/${id}/models`]) {
        const { json } = await operator.get(path)
        const models = json['data'] as readonly { id: string; open_weights?: boolean }[]
        const openIds = models.filter((model) => model.open_weights).map((model) => model.id)
        expect([path, openIds.toSorted()]).toEqual([
          path,
          ['sim/open', 'sim/open-long', 'sim/open:free'],
        ])
      }
    } finally {
      await world.close()
    }
  }
})
