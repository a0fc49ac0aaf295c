import type { Attention as Item, Overview } from '../../api/answers.ts'
import { refusedWithoutCredit } from '../../format/debt.ts'
import { money } from '../../format/money.ts'
import { counted } from '../../format/numbers.ts'
import { dayAndShortMinute, dayOf } from '../../format/time.ts'
import { type Need, NeedsList } from '../../parts/needs-list.tsx'
import { useNow } from '../../parts/now.ts'
import { useAccountId } from '../../shell/use-account.ts'

/** The items that will soon cause refusals, or that hold credit. */
export function Attention({ items, credit }: Pick<Around, 'credit'> & { items: readonly Item[] }) {
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
        <NeedsList needs={items.map((item) => needOf(item, { now, account, credit }))} />
      )}
    </section>
  )
}

interface Around {
  readonly now: Date
  readonly account: string
  readonly credit: Overview['credit']
}

function needOf(item: Item, around: Around): Need {
  switch (item.kind) {
    case 'key_limit':
    case 'key_expires':
    case 'key_allowance':
      return needOfKey(item, around)
    default:
      return needOfCredit(item, around)
  }
}

type KeyItem = Extract<Item, { kind: 'key_limit' | 'key_expires' | 'key_allowance' }>

function needOfKey(item: KeyItem, { now, account }: Around): Need {
  const link = { to: '/$account/keys', params: { account } } as const
  switch (item.kind) {
    case 'key_limit':
      return {
        icon: 'key',
        tone: item.remaining === 0 ? 'bad' : 'wait',
        title: `“${item.name}” has ${money(item.remaining)} of its ${money(item.credit_limit)} limit left`,
        note: limitNote(item.remaining, item.days_left),
        link,
      }
    case 'key_expires':
      return {
        icon: 'calendar',
        tone: 'wait',
        title: `“${item.name}” expires on ${dayOf(new Date(item.expires_at), now)}`,
        note: `Requests with this key are refused from ${dayAndShortMinute(new Date(item.expires_at), now)}.`,
        link,
      }
    case 'key_allowance':
      return {
        icon: 'key',
        tone: item.spend >= item.allowance ? 'bad' : 'wait',
        title: `“${item.name}” has spent ${allowanceText(item)}`,
        note: resetNote(item, now),
        link,
      }
  }
}

function needOfCredit(item: Exclude<Item, KeyItem>, { now, account, credit }: Around): Need {
  const params = { account }
  const link = { to: '/$account/credit', params } as const
  switch (item.kind) {
    case 'no_credit':
      return {
        icon: 'credit',
        tone: 'bad',
        title: item.owed > 0 ? `The account owes ${money(item.owed)}` : 'The account has no credit',
        note: refusedWithoutCredit(credit),
        link,
      }
    case 'unresolved':
      return {
        icon: 'clock',
        tone: 'wait',
        title: `${counted(item.requests, 'request')} ${item.requests === 1 ? 'is' : 'are'} unresolved, ${money(item.held)} held`,
        note:
          item.next_release_at === null
            ? 'The provider is asked for the cost.'
            : `The provider is asked for the cost; released by ${dayAndShortMinute(new Date(item.next_release_at), now)}.`,
        link: {
          to: '/$account/activity',
          params,
          search: { range: '30d', state: ['unresolved'] },
        },
      }
    case 'free_credit_ends':
      return {
        icon: 'calendar',
        tone: 'info',
        title: `${money(item.amount)} of free credit expires on ${dayOf(new Date(item.expires_at), now)}`,
        note: 'It pays for open-weight text models only.',
        link,
      }
    case 'credit_low':
      return {
        icon: 'credit',
        tone: 'wait',
        title: `${money(item.available)} of credit is left`,
        note:
          item.days_left === null
            ? `It was ${money(item.credited)} when credit was last added.`
            : `At the rate of the last 7 days, paid credit lasts ${daysText(item.days_left)}.`,
        link,
      }
    case 'account_allowance':
      return {
        icon: 'credit',
        tone: item.spend >= item.allowance ? 'bad' : 'wait',
        title: `${allowanceText(item)} is spent`,
        note: resetNote(item, now),
        link,
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
  if (daysLeft === null) return 'Requests with this key are refused once it is used up.'
  return `At the rate of the last 7 days it is used up in ${daysText(daysLeft)}.`
}

function daysText(days: number): string {
  return days < 1 ? 'less than a day' : `about ${counted(Math.round(days), 'day')}`
}
