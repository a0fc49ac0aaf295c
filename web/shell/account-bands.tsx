import { useQuery } from '@tanstack/react-query'
import { Link, useMatchRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { MINUTE_MS } from '../../src/vocabulary/clock.ts'
import type { OwnAccount } from '../api/answers.ts'
import { accountQuery } from '../api/queries.ts'
import { refusedWithoutCredit } from '../format/debt.ts'
import { money } from '../format/money.ts'
import { dayOf } from '../format/time.ts'
import { Icon } from '../parts/icon.tsx'
import { ContactLink } from '../parts/service-name.tsx'
import { Time } from '../parts/time.tsx'
import { AddCreditLink } from './add-credit-link.tsx'
import { useKeptRange } from './kept-range.ts'
import { useMe, useNameOf } from './use-account.ts'

const READ_AGAIN_MS = MINUTE_MS
// What a band says can end elsewhere, at the operator's or with a payment.
const BAND_READ_AGAIN_MS = READ_AGAIN_MS / 4

/** The bands above every page of an account: who views it, its suspension, and its debt. */
export function AccountBands({ accountId }: { accountId: string }) {
  const account = useWatchedAccount(accountId)
  const isAt = useMatchRoute()
  // The Playground has the band in place of its composer.
  const isInPlayground = isAt({ to: '/$account/playground' }) !== false
  return (
    <>
      <ViewingBand accountId={accountId} />
      {!isInPlayground && <SuspendedBand accountId={accountId} />}
      {account !== undefined && account.credit.backed.balance < 0 && (
        <DebtSection credit={account.credit}>
          <AddCreditLink className="btn pri" />
        </DebtSection>
      )}
    </>
  )
}

/** Says since when a suspended account refuses requests, and why. Nothing, where it is not suspended. */
export function SuspendedBand({ accountId }: { accountId: string }) {
  const account = useWatchedAccount(accountId)
  if (account?.disabled !== true) return null
  return (
    <SuspendedSection at={account.disabled_at} show={dayOf}>
      Requests are refused. {asSentence(account.disabled_note)}
      <ContactLink>Contact the operator</ContactLink>.
    </SuspendedSection>
  )
}

interface SuspendedSectionProps {
  /** When the account was suspended; null: before the gateway kept the time. */
  readonly at: string | null
  readonly show: (at: Date, now: Date) => string
  /** Default: none. */
  readonly button?: ReactNode
  /** The sentences after the first one. */
  readonly children: ReactNode
}

/** The band of a suspended account. */
export function SuspendedSection({ at, show, button, children }: SuspendedSectionProps) {
  return (
    <section className="band bad" aria-label="Suspended">
      <Icon name="pause" />
      <div>
        <p>
          <b>
            This account is suspended
            {at !== null && (
              <>
                {' since '}
                <Time at={at} show={show} />
              </>
            )}
            .
          </b>{' '}
          {children}
        </p>
      </div>
      {button}
    </section>
  )
}

/** A note as a sentence before the next one. */
function asSentence(note: string | null): string {
  if (note === null || note.trim() === '') return ''
  return /[.!?…]$/.test(note.trim()) ? `${note.trim()} ` : `${note.trim()}. `
}

/** An account as it is, read again each minute, and more often while a band says that it is refused; null: none is read. */
export function useWatchedAccount(accountId: string | null): OwnAccount | undefined {
  return useQuery({
    ...accountQuery(accountId ?? ''),
    enabled: accountId !== null,
    staleTime: BAND_READ_AGAIN_MS,
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && hasBand(data) ? BAND_READ_AGAIN_MS : READ_AGAIN_MS,
  }).data
}

function hasBand({ disabled, credit }: OwnAccount): boolean {
  return disabled || credit.backed.balance < 0
}

/** Reminds an operator that the page belongs to a customer. */
function ViewingBand({ accountId }: { accountId: string }) {
  const { accounts, user } = useMe()
  const { name } = useNameOf(accountId)
  const searchTo = useKeptRange()
  if (!user.is_operator || accounts.some(({ id }) => id === accountId)) return null
  return (
    <section className="band info" aria-label="Viewing as a member">
      <Icon name="eye" />
      <div>
        <p>
          You are viewing <b>{name}</b> as its members see it. Changes are recorded in the audit
          log.
        </p>
      </div>
      <Link
        className="btn"
        to="/operator/accounts/$account"
        params={{ account: accountId }}
        search={searchTo('/operator/accounts/$account')}
      >
        Back to operator
      </Link>
    </section>
  )
}

interface DebtSectionProps extends Pick<OwnAccount, 'credit'> {
  /** The button. Default: none. */
  readonly children?: ReactNode
}

/** The band of an account below zero: its debt, and which of its requests are refused. */
export function DebtSection({ credit, children }: DebtSectionProps) {
  return (
    <section className="band bad" aria-label="Debt">
      <Icon name="credit" />
      <div>
        <p>
          <b>This account owes {money(-credit.backed.balance)}.</b> {refusedWithoutCredit(credit)}
        </p>
      </div>
      {children}
    </section>
  )
}
