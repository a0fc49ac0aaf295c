import { hrefOf } from '../../api/calls.ts'
import type { Moments } from '../../api/queries.ts'
import { csvName } from '../../format/csv-name.ts'
import { CsvLink } from '../../parts/buttons.tsx'
import { Segments } from '../../parts/segments.tsx'
import { useAccountCaller } from '../../shell/account-screen.tsx'
import { useAccountId, useAccountName } from '../../shell/use-account.ts'

const LISTS = [
  { value: 'statement', text: 'Statement' },
  { value: 'top-ups', text: 'Top-ups' },
  { value: 'entries', text: 'Every entry' },
] as const

/** The list that is shown for the range. */
type CreditList = (typeof LISTS)[number]['value']

/** The list that is shown, and its range. */
export interface ListProps {
  readonly list: CreditList
  readonly moments: Moments
  /** The range in words. */
  readonly rangeWords: string
  readonly onList: (list: CreditList) => void
  /** Goes to the time just before the range. */
  readonly onEarlier: () => void
}

/** The lists to choose from, and the shown list as CSV. */
export function ListHeader({ list, moments, rangeWords, onList }: ListProps) {
  const as = useAccountCaller()
  const { name } = useAccountName()
  const asked = { account_id: useAccountId(), ...moments }
  const kind = 'top_up,purchase,activation,grant,reversal'
  const hrefs = {
    statement: hrefOf(as, 'getStatement', { ...asked, format: 'csv' }),
    'top-ups': hrefOf(as, 'getStatement', { ...asked, format: 'csv', kind }),
    entries: hrefOf(as, 'downloadEntries', asked),
  }
  return (
    <header className="flex-wrap max-[641px]:pb-1.5">
      <Segments label="List" options={LISTS} value={list} onChange={onList} />
      <span className="note ml-auto">{rangeWords}</span>
      <CsvLink href={hrefs[list]} name={csvName({ kind: list, of: name, ...moments })} isSmall />
    </header>
  )
}
