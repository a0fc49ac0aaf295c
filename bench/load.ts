import { setTimeout as delay } from 'node:timers/promises'
import { LoadConnection } from './load-connection.ts'
import type { Target } from './target.ts'
import type { Expected } from './witness.ts'

/** A request that is sent over and over, and the answer that it must have each time. */
export interface Workload {
  readonly path: string
  readonly body: Buffer
  readonly expected: Expected
}

/** How long each answer took. */
export interface LoadResult {
  readonly requests: number
  readonly latenciesMs: readonly number[]
  /** For streams: from sending to the first event. */
  readonly firstEventMs: readonly number[]
}

interface LoadInput {
  readonly target: Target
  readonly workload: Workload
  readonly requests: number
}

/** This many clients; each sends its next request as soon as it has an answer. */
export async function closedLoop(
  input: LoadInput & { readonly clients: number },
): Promise<LoadResult> {
  const { target, requests, clients } = input
  const connections = await openAll(target.address, Math.min(clients, requests))
  const sender = new Sender(input)
  const client = async (connection: LoadConnection): Promise<void> => {
    while (sender.sent < requests) await sender.send(connection)
  }
  await Promise.all(connections.map(client))
  for (const connection of connections) connection.close()
  return sender.result()
}

/**
 * Requests that come so many a second, at random moments or at even intervals, whether or not earlier ones have been
 * answered: as from many clients who know nothing of each other. Those at even intervals open their connections when they
 * are due. `waitsMs` has how long each took from when it was due, also those that failed.
 */
export async function arrivals(
  input: LoadInput & { readonly perSecond: number; readonly moments: 'random' | 'even' },
): Promise<LoadResult & { readonly waitsMs: readonly number[] }> {
  const { target, requests, perSecond, moments } = input
  const free: LoadConnection[] = moments === 'even' ? [] : await openAll(target.address, 16)
  const sender = new Sender(input)
  const waitsMs: number[] = []
  const underWay: Promise<void>[] = []
  const exchange = async (dueAtMs: number): Promise<void> => {
    try {
      const connection = free.pop() ?? (await LoadConnection.open(target.address))
      await sender.send(connection)
      free.push(connection)
    } catch (error) {
      target.witness.failed(String(error))
    }
    waitsMs.push(performance.now() - dueAtMs)
  }
  let dueAtMs = performance.now()
  for (let count = 0; count < requests; count++) {
    dueAtMs += ((moments === 'even' ? 1 : -Math.log(1 - Math.random())) * 1_000) / perSecond
    const waitMs = dueAtMs - performance.now()
    if (waitMs > 0.5) await delay(waitMs)
    underWay.push(exchange(dueAtMs))
  }
  await Promise.all(underWay)
  for (const connection of free) connection.close()
  return { ...sender.result(), waitsMs }
}

/** Opens so many connections, a few at a time, so that no listener's queue overflows. */
export async function openAll(address: string, count: number): Promise<LoadConnection[]> {
  const connections: LoadConnection[] = []
  while (connections.length < count) {
    const batch = Math.min(64, count - connections.length)
    connections.push(
      ...(await Promise.all(Array.from({ length: batch }, () => LoadConnection.open(address)))),
    )
  }
  return connections
}

/** Sends a workload's requests, each from the next caller, and has every answer looked at. */
export class Sender {
  readonly #target: Target
  readonly #workload: Workload
  readonly #heads: readonly Buffer[]
  readonly #latenciesMs: number[] = []
  readonly #firstEventMs: number[] = []
  #sent = 0

  constructor({ target, workload }: Pick<LoadInput, 'target' | 'workload'>) {
    this.#target = target
    this.#workload = workload
    this.#heads = headsOf(target, workload)
  }

  /** How many requests it has sent, answered or not. */
  get sent(): number {
    return this.#sent
  }

  /** Resolves when the answer has come or failed; a failure is the witness's. */
  async send(connection: LoadConnection, onPiece?: (piece: Buffer) => void): Promise<void> {
    const head = this.#heads[this.#sent % this.#heads.length]
    if (head === undefined) throw new Error(`${this.#target.name} has no callers`)
    this.#sent += 1
    const { body, expected } = this.#workload
    const { witness } = this.#target
    try {
      const answer = await connection.send({ head, body, ...(onPiece && { onPiece }) })
      const { sentAtMs, firstEventAtMs, endedAtMs } = answer
      this.#latenciesMs.push(endedAtMs - sentAtMs)
      if (firstEventAtMs !== null) this.#firstEventMs.push(firstEventAtMs - sentAtMs)
      witness.check(answer, expected)
    } catch (error) {
      witness.failed(String(error))
    }
  }

  /** The figures of all answers so far. */
  result(): LoadResult {
    return {
      requests: this.#latenciesMs.length,
      latenciesMs: this.#latenciesMs,
      firstEventMs: this.#firstEventMs,
    }
  }
}

function headsOf({ address, callers }: Target, { path, body }: Workload): Buffer[] {
  const { host } = new URL(address)
  return callers.map((headers) => {
    const fields = {
      host,
      'content-type': 'application/json',
      'content-length': String(body.length),
      ...headers,
    }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
  })
}
