import type { Account } from '../../api/answers.ts'
import { dayAndShortMinute } from '../../format/time.ts'
import { Icon } from '../../parts/icon.tsx'
import { DebtWords, Since } from '../../shell/account-bands.tsx'
import type { Opened } from './account-menu.tsx'

interface OperatorBandsProps {
  readonly account: Account
  readonly onOpen: (opened: Opened) => void
}

/** Why the requests of an account are refused, and what ends it: a suspension, and a debt. */
export function OperatorBands({ account, onOpen }: OperatorBandsProps) {
  return (
    <>
      {account.disabled && (
        <section className="band bad" aria-label="Suspended">
          <Icon name="pause" />
          <div>
            <p>
              <b>
                This account is suspended
                <Since at={account.disabled_at} show={dayAndShortMinute} />.
              </b>{' '}
              Requests with its keys are refused; its credit and history are kept.
              {account.disabled_note !== null && ` Note for members: “${account.disabled_note}”`}
            </p>
          </div>
          <button type="button" className="btn" onClick={() => onOpen('suspend')}>
            Resume account
          </button>
        </section>
      )}
      {account.credit.backed.balance < 0 && (
        <section className="band bad" aria-label="Debt">
          <Icon name="credit" />
          <div>
            <DebtWords credit={account.credit} />
          </div>
        </section>
      )}
    </>
  )
}
