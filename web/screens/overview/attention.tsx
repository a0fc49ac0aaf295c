import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Attention as Item } from '../../api/answers.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndShortMinute, dayOf } from '../../format/time.ts'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { useNow } from '../../parts/now.ts'
import { useAccountId } from '../../shell/use-account.ts'

interface Shown {
  readonly icon: IconName
  readonly tone: string
  readonly title: ReactNode
  readonly note: string
}

/** The items that will soon cause refusals, or that hold credit. */
export function Attention({ items }: { items: readonly Item[] }) {
  const now = useNow()
  const account = useAccountId()
  return (
    <section className="card">
      <header>
        <h2>Needs attention</h2>
      </header>
      {items.length === 0 ? (
        <p className="note px-[18px] pt-2 pb-4">
          Nothing needs attention. Credit, limits and expiries are fine.
        </p>
      ) : (
        <ul className="needs pt-1">
          {items.map((item) => {
            const { icon, tone, title, note } = shownOf(item, { now, account })
            return (
              <li key={item.kind + ('key_id' in item ? item.key_id : '')}>
                <span className={tone}>
                  <Icon name={icon} />
                </span>
                <div>
                  {title}
                  <p>{note}</p>
                </div>
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}

interface Around {
  readonly now: Date
  readonly account: string
}

function shownOf(item: Item, around: Around): Shown {
  switch (item.kind) {
    case 'key_limit':
    case 'key_expires':
    case 'key_allowance':
      return shownOfKey(item, around)
    default:
      return shownOfCredit(item, around)
  }
}

type KeyItem = Extract<Item, { kind: 'key_limit' | 'key_expires' | 'key_allowance' }>

function shownOfKey(item: KeyItem, { now, account }: Around): Shown {
  const keys = (text: string) => (
    <Link className="hover:underline" to="/$account/keys" params={{ account }}>
      {text}
    </Link>
  )
  switch (item.kind) {
    case 'key_limit':
      return {
        icon: 'key',
        tone: item.remaining === 0 ? 'text-bad' : 'text-wait',
        title: keys(
          `“${item.name}” has ${money(item.remaining)} of its ${money(item.credit_limit)} limit left`,
        ),
        note: limitNote(item.remaining, item.days_left),
      }
    case 'key_expires':
      return {
        icon: 'calendar',
        tone: 'text-wait',
        title: keys(`“${item.name}” expires on ${dayOf(new Date(item.expires_at), now)}`),
        note: `Requests with this key are refused from ${dayAndShortMinute(new Date(item.expires_at), now)}.`,
      }
    case 'key_allowance':
      return {
        icon: 'key',
        tone: item.spend >= item.allowance ? 'text-bad' : 'text-wait',
        title: keys(`“${item.name}” has spent ${allowanceText(item)}`),
        note: resetNote(item, now),
      }
  }
}

function shownOfCredit(item: Exclude<Item, KeyItem>, { now, account }: Around): Shown {
  switch (item.kind) {
    case 'no_credit':
      return {
        icon: 'credit',
        tone: 'text-bad',
        title: (
          <Link className="hover:underline" to="/$account/credit" params={{ account }}>
            The account has no credit
          </Link>
        ),
        note: 'Requests are refused until credit is added.',
      }
    case 'unresolved':
      return {
        icon: 'clock',
        tone: 'text-wait',
        title: (
          <Link
            className="hover:underline"
            to="/$account/activity"
            params={{ account }}
            search={{ range: '30d', state: ['unresolved'] }}
          >
            {counted(item.requests, 'request')} {item.requests === 1 ? 'is' : 'are'} unresolved,{' '}
            {money(item.held)} held
          </Link>
        ),
        note:
          item.next_release_at === null
            ? 'The provider is asked for the cost.'
            : `The provider is asked for the cost; released by ${dayAndShortMinute(new Date(item.next_release_at), now)}.`,
      }
    case 'free_credit_ends':
      return {
        icon: 'calendar',
        tone: 'text-info',
        title: `${money(item.amount)} of free credit expires on ${dayOf(new Date(item.expires_at), now)}`,
        note: 'It pays for open-weight text models only.',
      }
    case 'credit_low':
      return {
        icon: 'credit',
        tone: 'text-wait',
        title: `${money(item.available)} of credit is left`,
        note:
          item.days_left === null
            ? `It was ${money(item.credited)} when credit was last added.`
            : `At the rate of the last 7 days it lasts ${daysText(item.days_left)}.`,
      }
    case 'account_allowance':
      return {
        icon: 'credit',
        tone: item.spend >= item.allowance ? 'text-bad' : 'text-wait',
        title: `${allowanceText(item)} is spent`,
        note: resetNote(item, now),
      }
  }
}

type AllowanceItem = Extract<Item, { kind: 'account_allowance' | 'key_allowance' }>

const ADJECTIVES = { day: 'daily', week: 'weekly', month: 'monthly' } as const

/** `$9.00 of its daily $10.00`. */
function allowanceText({ kind, spend, allowance, period }: AllowanceItem): string {
  const whose = kind === 'key_allowance' ? 'its' : 'the account’s'
  return `${money(spend)} of ${whose} ${ADJECTIVES[period]} ${money(allowance)}`
}

function resetNote({ kind, spend, allowance, resets_at }: AllowanceItem, now: Date): string {
  const at = dayAndShortMinute(new Date(resets_at), now)
  if (spend < allowance) return `It resets on ${at}.`
  const code = kind === 'key_allowance' ? 'key_limit_reached' : 'insufficient_credit'
  return `Requests are refused with ${code} until ${at}.`
}

function limitNote(remainingMicros: number, daysLeft: number | null): string {
  if (remainingMicros === 0) return 'Requests with this key are refused with key_limit_reached.'
  if (daysLeft === null) return 'It was not used in the last 7 days.'
  return `At the rate of the last 7 days it is used up in ${daysText(daysLeft)}.`
}

function daysText(days: number): string {
  return days < 1 ? 'less than a day' : `about ${counted(Math.round(days), 'day')}`
}
