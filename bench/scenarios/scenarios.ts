import type { Scenario } from '../bench.ts'
import { GROWTH } from './growth.ts'
import { HOSTILE } from './hostile.ts'
import { KEYS } from './keys.ts'
import { LARGE_BODIES } from './large-bodies.ts'
import { LATENCY } from './latency.ts'
import { MEMORY } from './memory.ts'
import { PACED } from './paced.ts'
import { PAGE } from './page.ts'
import { PEERS } from './peers.ts'
import { POSTGRES } from './postgres.ts'
import { ARRIVALS, REQUESTS, STREAMS } from './requests.ts'

/** Everything that can be measured, in the order in which it runs. */
export const SCENARIOS: readonly Scenario[] = [
  REQUESTS,
  STREAMS,
  ARRIVALS,
  LATENCY,
  PACED,
  POSTGRES,
  LARGE_BODIES,
  HOSTILE,
  GROWTH,
  KEYS,
  PAGE,
  PEERS,
  MEMORY,
]
