import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import { assertNever } from '../vocabulary/assert-never.ts'
import type { TraceSettings } from './trace-settings.ts'

/** Decides which traces are kept. */
export function samplerOf(settings: Pick<TraceSettings, 'sampler' | 'sampledFraction'>): Sampler {
  const { sampler, sampledFraction } = settings
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(sampledFraction)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledFraction) })
    default:
      return assertNever(sampler)
  }
}
