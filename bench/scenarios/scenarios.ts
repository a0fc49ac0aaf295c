import type { Scenario } from '../bench.ts'
import { LATENCY } from './latency.ts'
import { PACED } from './paced.ts'
import { ARRIVALS, REQUESTS } from './requests.ts'
import { STREAMS } from './streams.ts'

/** Everything that can be measured, in the order in which it runs. */
export const SCENARIOS: readonly Scenario[] = [REQUESTS, STREAMS, ARRIVALS, LATENCY, ...PACED]
