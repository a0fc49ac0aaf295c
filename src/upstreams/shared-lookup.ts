import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { MINUTE_MS } from '../vocabulary/clock.ts'

type Answer = Parameters<LookupFunction>[2]

/** Asks the system for the addresses of a name, as `dns.lookup` does. */
type AskSystem = (hostname: string, asked: LookupOptions, answer: Answer) => void

/** One name, with the options that it is asked for with. */
interface Name {
  /** The connections that wait for the answer; null: nothing is asked at the moment. */
  waiting: Answer[] | null
  addresses: string | LookupAddress[]
  family: number | undefined
  /** The steady time from which on the addresses are too old. */
  knownUntilMs: number
}

/**
 * One DNS lookup that all connections share. The system resolves only two names at a time, and blocks for seconds if the
 * DNS servers do not answer, so each name has at most one lookup in progress. If that fails, or takes longer than
 * `slowMs`, the last known addresses are used, for up to `knownForMs`.
 */
export function sharedLookup({
  ask = systemLookup,
  slowMs = 1_000,
  knownForMs = 10 * MINUTE_MS,
}: {
  /** Default: `dns.lookup`. */
  readonly ask?: AskSystem
  /** How long a name whose addresses are known is waited for. */
  readonly slowMs?: number
  /** How long addresses can stand in for an answer that does not come. */
  readonly knownForMs?: number
} = {}): LookupFunction {
  const names = new Map<string, Name>()
  return (hostname, asked, answer) => {
    const question = [hostname, asked.family, asked.hints, asked.all, asked.order].join(' ')
    const name = names.get(question) ?? { waiting: null, addresses: [], family: 0, knownUntilMs: 0 }
    names.set(question, name)
    let isAnswered = false
    const answerOnce: Answer = (...answered) => {
      clearTimeout(timer)
      if (!isAnswered) answer(...answered)
      isAnswered = true
    }
    const answerKnown = (): void => answerOnce(null, name.addresses, name.family)
    const timer = isKnown(name) ? setTimeout(answerKnown, slowMs) : undefined
    if (name.waiting !== null) {
      name.waiting.push(answerOnce)
      return
    }
    const waiting = [answerOnce]
    name.waiting = waiting
    ask(hostname, asked, (error, addresses, family) => {
      name.waiting = null
      if (error === null) {
        Object.assign(name, { addresses, family, knownUntilMs: performance.now() + knownForMs })
      }
      // A name that no longer exists has no addresses.
      if (error?.code === 'ENOTFOUND') name.knownUntilMs = 0
      const standsIn = error !== null && isKnown(name)
      for (const each of waiting) {
        if (standsIn) each(null, name.addresses, name.family)
        else each(error, addresses, family)
      }
    })
  }
}

function isKnown({ knownUntilMs }: Name): boolean {
  return performance.now() < knownUntilMs
}
