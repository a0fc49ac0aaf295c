import type { Purchase } from '../../api/answers.ts'
import { REVERSAL_WORDS } from './purchase-words.ts'

/** Whether a purchase was refunded or is disputed. */
export function ReversalChip({ reversal }: { reversal: NonNullable<Purchase['reversal']> }) {
  const { word, tone } = REVERSAL_WORDS[reversal]
  return <span className={`chip ${tone}`}>{word}</span>
}
