import { request } from 'undici'
import type { World } from './world.ts'

/** Sends a chat to the gateway of a world. */
export function sendChat(
  world: World,
  { apiKey, stream = false }: { readonly apiKey: string; readonly stream?: boolean },
) {
  return request(world.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({
      model: 'sim/text',
      stream,
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  })
}

/** The status of `/readyz`, with its checks. */
export async function readReadiness(world: World) {
  const { statusCode: httpStatus, body } = await request(world.url('/readyz'))
  const { checks } = (await body.json()) as {
    checks: { name: string; ok: boolean; message: string }[]
  }
  return { httpStatus, checks }
}
