import type { ChartStep } from '../../src/vocabulary/usage-step.ts'
import { ownTimeZone } from '../format/time.ts'

/** The time zone of a chart's steps, in its title: hours are those of the browser, days and months are UTC. */
export function StepZone({ step }: { step: ChartStep }) {
  return <span className="font-normal text-ink-3">{step === 'hour' ? ownTimeZone() : 'UTC'}</span>
}
