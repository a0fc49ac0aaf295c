import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { ATTACKS, type Shot } from './attacks.ts'
import type { Answers, AttackerInput } from './busy-thread.ts'

/*
 * Attacks until it is stopped. A key that has used up its minute waits a little, since more would only
 * be refused; everything else continues as soon as the shot before it is over.
 */
const AFTER_LIMIT_MS = 200

const { address, attacks, connectionsMax } = workerData as AttackerInput // the input from busy-thread.ts
const { host, hostname, port } = new URL(address)
const answers: Answers = {}
const open = new Set<Socket>()
let isStopping = false

const loops = attacks.flatMap(({ name, apiKey }) => {
  const attack = ATTACKS.find((candidate) => candidate.name === name)
  if (attack === undefined) throw new TypeError(`there is no attack "${name}"`)
  const nextShot = attack.aim({ host, apiKey })
  const counts: Record<string, number> = {}
  answers[name] = counts
  const waitsWhenLimited = attack.by !== 'nobody'
  const connections = Math.min(attack.connections, connectionsMax)
  return Array.from({ length: connections }, () => async (): Promise<void> => {
    while (!isStopping) {
      const how = await fire(nextShot())
      if (isStopping) return
      counts[how] = (counts[how] ?? 0) + 1
      if (how === '429' && waitsWhenLimited) {
        await delay(AFTER_LIMIT_MS)
      }
    }
  })
})

/** Resolves with the status of the first answer, or with how the connection ended without one. */
async function fire({ pieces, afterwards, pauseMs = 0 }: Shot): Promise<string> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  open.add(socket)
  let how = 'closed'
  const over = Promise.withResolvers<void>()
  socket.on('error', ({ message }) => {
    if (how === 'closed') how = message.split(' ').at(-1) ?? message
  })
  socket.once('close', () => over.resolve())
  socket.on('data', (bytes) => {
    if (how !== 'closed') return
    how = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1', 0, 16))?.[1] ?? 'no HTTP'
    over.resolve()
  })
  for (const piece of pieces) {
    if (how !== 'closed' || socket.destroyed || isStopping) break
    if (!socket.write(piece)) await Promise.race([drained(socket), over.promise])
    if (pauseMs > 0) await Promise.race([delay(pauseMs), over.promise])
  }
  if (afterwards === 'hangUp') socket.end()
  await over.promise
  socket.destroy()
  open.delete(socket)
  return how
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('drain', resolve))
}

parentPort?.once('message', () => {
  isStopping = true
  for (const socket of open) socket.destroy()
})
parentPort?.postMessage('started')
await Promise.all(loops.map((loop) => loop()))
parentPort?.postMessage(answers)
