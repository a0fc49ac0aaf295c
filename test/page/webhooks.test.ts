import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { type Browser, errorOf, setUpOperator } from './page-client.ts'

/** Webhooks on the desk of operators. */

let operator: Browser

const world = worldOfFile()
beforeAll(async () => {
  await world.account()
  operator = await setUpOperator(world)
})

test('an operator sees the secret of a webhook once and its messages, and disables it', async () => {
  const made = await operator.post('operator/webhooks', { url: 'https://receiver.invalid/' })
  const [id, secret] = [String(made.json['id']), String(made.json['secret'])]
  expect(secret).toMatch(/^whsec_/)
  const listed = await operator.get('operator/webhooks')
  expect(listed.json['data']).toMatchObject([{ id, disabled: false }])
  const sent = await operator.post(`operator/webhooks/${id}/test`)
  expect(sent.json).toMatchObject({ event: 'webhook.test', state: 'waiting' })
  const disabled = await operator.call('PATCH', `operator/webhooks/${id}`, {
    body: { disabled: true },
  })
  expect(disabled.json).toMatchObject({ id, disabled: true })
  const deliveries = await operator.get(`operator/webhooks/${id}/deliveries`)
  expect(deliveries.json['data']).toMatchObject([{ id: sent.json['id'], event: 'webhook.test' }])
  for (const { text } of [
    listed,
    sent,
    disabled,
    deliveries,
    await operator.get('operator/actions'),
  ]) {
    expect(text).not.toContain(secret)
  }
  const unsafe = await operator.post('operator/webhooks', { url: 'https://127.0.0.1/' })
  expect(errorOf(unsafe)).toEqual({ httpStatus: 400, code: 'invalid_parameter', param: 'url' })
})
