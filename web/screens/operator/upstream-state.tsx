import type { ListedUpstream } from '../../api/operator.ts'

const STATES: Readonly<Record<ListedUpstream['state'], { word: string; tone: string }>> = {
  healthy: { word: 'Healthy', tone: 'good' },
  failing: { word: 'Failing', tone: 'bad' },
  unreachable: { word: 'Unreachable', tone: 'bad' },
  credit_low: { word: 'Credit low', tone: 'wait' },
  key_refused: { word: 'Key refused', tone: 'bad' },
}

/** The state of an upstream in one word. */
export function StateChip({ state }: Pick<ListedUpstream, 'state'>) {
  const { word, tone } = STATES[state]
  return <span className={`chip ${tone}`}>{word}</span>
}
