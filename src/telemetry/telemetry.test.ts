import { pino } from 'pino'
import { expect, test } from 'vitest'
import { systemClock } from '../vocabulary/clock.ts'
import { Readiness } from './readiness.ts'
import { Telemetry } from './telemetry.ts'
import { ended } from './testing/ended-request.ts'

test('a stream that reports a refusal of our account does not end an earlier refusal, and a whole answer does', () => {
  const readiness = new Readiness({
    clock: systemClock,
    storeKind: 'sqlite',
    pricesStaleAfterMs: 3_600_000,
    upstreams: [{ name: 'router', apiKeyVariable: null }],
  })
  const log = pino({ level: 'silent' })
  const telemetry = new Telemetry({ log, readiness, metrics: null, tracer: null, meter: null })
  readiness.accountRefused({ upstream: 'router', asker: 'request', refusedFor: 'credit' })
  telemetry.requestEnded(
    ended({ stream: true, state: 'released', errorCode: 'service_unavailable' }),
  )
  expect(readiness.isAccountRefused('router')).toBe(true)
  telemetry.requestEnded(ended({}))
  expect(readiness.isAccountRefused('router')).toBe(false)
})
