import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { ProberInput } from './busy-thread.ts'
import { LoadConnection } from './load-connection.ts'

/*
 * Asks, waits for the answer, and asks again a little later, until it is stopped. How long an
 * answer took at most is how long the target's event loop was held up by something else.
 */
const BETWEEN_MS = 2

const { address, probe } = workerData as ProberInput // the input from busy-thread.ts
const body = Buffer.from(probe.body)
const head = Buffer.from(
  `${probe.method} ${probe.path} HTTP/1.1\r\nhost: bench\r\ncontent-length: ${body.length}\r\n\r\n`,
)
const connection = await LoadConnection.open(address)
let isStopping = false
parentPort?.once('message', () => {
  isStopping = true
})
await connection.send({ head, body })
parentPort?.postMessage('started')
let longestMs = 0
while (!isStopping) {
  const { sentAtMs, endedAtMs } = await connection.send({ head, body })
  longestMs = Math.max(longestMs, endedAtMs - sentAtMs)
  await delay(BETWEEN_MS)
}
connection.close()
parentPort?.postMessage(longestMs)
