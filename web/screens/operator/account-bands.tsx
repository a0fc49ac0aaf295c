import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Account, Page } from '../../api/answers.ts'
import { actionsQuery } from '../../api/operator.ts'
import { keysQuery } from '../../api/queries.ts'
import { dayAndShortMinute } from '../../format/time.ts'
import { countOf } from '../../parts/count.tsx'
import { DebtSection, SuspendedSection } from '../../shell/account-bands.tsx'
import type { Opened } from './account-menu.tsx'
import { actorWords } from './action-words.ts'

interface OperatorBandsProps {
  readonly account: Account
  readonly onOpen: (opened: Opened) => void
}

/** Why the requests of an account are refused, and what ends it: a suspension, and a debt. */
export function OperatorBands({ account, onOpen }: OperatorBandsProps) {
  return (
    <>
      {account.disabled && <SuspendedBand account={account} onOpen={onOpen} />}
      {account.credit.backed.balance < 0 && <DebtSection credit={account.credit} />}
    </>
  )
}

function SuspendedBand({ account, onOpen }: OperatorBandsProps) {
  const { id, disabled_at: at, disabled_note: note } = account
  const by = useSuspender(id, at)
  const { data: keys } = useQuery(keysQuery(id))
  return (
    <SuspendedSection
      at={at}
      show={dayAndShortMinute}
      button={
        <button type="button" className="btn" onClick={() => onOpen('suspend')}>
          Resume account
        </button>
      }
    >
      {by !== null && `Suspended by ${by}. `}
      {refusedText(keys)}; its credit and history are kept.
      {note !== null && ` Note for members: “${note}”`}
    </SuspendedSection>
  )
}

/** The person or program that suspended an account at this moment, by the audit log; null: not known. */
function useSuspender(account: string, at: string | null): string | null {
  const ms = at === null ? 0 : Date.parse(at)
  const span = { fromMs: ms, toMs: ms + 1 }
  const asked = actionsQuery({ account, kind: ['changeAccount'], field: ['disabled'], span }, 1)
  const { data, isPlaceholderData } = useInfiniteQuery({ ...asked, enabled: at !== null })
  const action = isPlaceholderData ? undefined : data?.pages[0]?.data[0]
  return action === undefined ? null : actorWords(action)
}

function refusedText(keys: Page<unknown> | undefined): string {
  if (keys === undefined) return 'Requests with its keys are refused'
  if (keys.data.length === 0) return 'It has no keys'
  const words = keys.data.length === 1 ? 'its key' : `its ${countOf(keys)} keys`
  return `Requests with ${words} are refused`
}
