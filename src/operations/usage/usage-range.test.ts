import { expect, test } from 'vitest'
import { rangeOf } from './usage-range.ts'

test.each([
  ['now', 'UTC', undefined, '2026-11-29T08:00:00Z', '2026-10-31T00:00:00Z'],
  ['the end of a day', 'UTC', '2026-12-01', '2026-11-29T08:00:00Z', '2026-11-01T00:00:00Z'],
  // Clocks went back on 25 October.
  ['now', 'Europe/Berlin', undefined, '2026-11-15T23:30:00Z', '2026-10-17T22:00:00Z'],
  // Clocks went forward on 29 March.
  ['now', 'Europe/Berlin', undefined, '2026-04-10T10:00:00Z', '2026-03-11T23:00:00Z'],
])(
  'a report without a start, up to %s in %s, has thirty days with the last',
  (_, zone, to, now, from) => {
    const { fromMs } = rangeOf({ to, time_zone: zone }, Date.parse(now))
    expect(new Date(fromMs)).toEqual(new Date(from))
  },
)
