import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'

/** docs/webhooks.md: its receiver, run as a person pastes it. */

const SECRET = 'whsec_yiKkSMzx9zNII3zByUKJAxDsUJ16TEOtDK9GVXjLdCc='
const BODY = '{"type":"balance.low","timestamp":"2027-01-01T00:00:00.000Z","data":{"balance":1}}'

/** Starts the receiver, which also prints its port. */
async function startSample() {
  const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'webhooks.md'), 'utf8')
  const code = /```js\n(.*?)```/s.exec(page)?.[1] ?? ''
  const listening = 'listen(0, function () { console.log(this.address().port) })'
  const program = code.replace('listen(process.env.PORT)', listening)
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { WEBHOOK_SECRET: SECRET },
  })
  onTestFinished(async () => {
    child.kill()
    await once(child, 'close')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value
  const port = Number(await next())
  return { port, url: `http://127.0.0.1:${port}`, next, errors: child.stderr }
}

test('the sample receiver accepts messages that the gateway signed, and refuses all others', async () => {
  const { url, next } = await startSample()
  const send = async ({ secret = SECRET, body = BODY, signed = BODY, ageMs = 0, more = '' }) => {
    const at = new Date(Date.now() - ageMs)
    const signature = new Webhook(secret).sign('msg_1', at, signed)
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': more + signature,
    }
    return (await fetch(url, { method: 'POST', headers, body })).status
  }
  expect(await send({ body: BODY.replace('1}', '2}') })).toBe(401)
  expect(await send({ secret: `whsec_${btoa('another')}` })).toBe(401)
  expect(await send({ ageMs: 10 * 60_000 })).toBe(401)
  expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(401)
  expect(await send({})).toBe(204)
  expect(await next()).toBe('balance.low { balance: 1 }')
  expect(await send({ more: 'v1,AAAA ' })).toBe(204)
})

test('a sender that disconnects in the middle of its body does not end the receiver', async () => {
  const { port, url, errors } = await startSample()
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n{')
  // The receiver reads the body once it has asked for it.
  await once(socket, 'data')
  socket.destroy()
  expect(String((await once(errors, 'data'))[0])).toContain('aborted')
  expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(401)
})

test('a body above a megabyte is not read to its end', async () => {
  const { port, url } = await startSample()
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2000001\r\n\r\n${' '.repeat(1_500_000)}`,
  )
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 413 /)
  socket.destroy()
  expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(401)
})
