import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventCounter } from './held-streams.ts'

const EVENTS = fc.array(fc.stringMatching(/^data: [a-z]{0,9}$/), { maxLength: 20 })

test('every event is counted once, wherever the bytes are cut', () => {
  fc.assert(
    fc.property(
      EVENTS,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (events, cuts) => {
        const counter = new EventCounter()
        const count = counter.counterOf()
        const bytes = Buffer.from(events.map((event) => `${event}\n\n`).join(''))
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const end = at + (cuts[turn % cuts.length] ?? 1)
          count(bytes.subarray(at, end))
          at = end
        }
        expect(counter.events).toBe(events.length)
      },
    ),
  )
})
