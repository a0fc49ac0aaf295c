import { type Letter, letterOf, momentText } from '../mail/letter.ts'
import { assertNever } from '../vocabulary/assert-never.ts'
import { MICROS_PER_CENT, showMicros } from '../vocabulary/money.ts'
import { tokenText, usualDecimals } from '../vocabulary/purchase.ts'
import type { AlertAbout, NotedPayment } from './about.ts'

/** An email of an alert to one owner of the account. */
export interface AlertLetter {
  readonly to: string
  readonly accountName: string
  /** The account's pages. */
  readonly accountUrl: string
  readonly about: AlertAbout
}

interface AlertText {
  readonly subject: string
  readonly words: readonly string[]
  /** A link to a page of the account. */
  readonly link: { readonly words: string; readonly page: `credit${string}` | 'keys' }
}

/** Names the step that was crossed, its effect, and where to change it. */
export function alertLetter({ to, accountName, accountUrl, about }: AlertLetter): Letter {
  const { subject, words, link } = textOf(about, `the account "${accountName}"`)
  return letterOf({
    to,
    subject: `${subject} (${accountName})`,
    parts: [
      ...[...words, ...lastWords(about)].map((each) => ({ kind: 'words', words: each }) as const),
      { kind: 'link', words: link.words, url: `${accountUrl}/${link.page}` },
      {
        kind: 'words',
        words:
          'You get this email because you own the account. You can turn these emails off under "Profile".',
      },
    ],
  })
}

function lastWords(about: AlertAbout): readonly string[] {
  if (!('isLastOfDay' in about)) return []
  return [
    '50 alerts about keys of this account were emailed today (UTC). That is the daily limit: further alerts about keys are not emailed today. The page shows the state of each key.',
  ]
}

function textOf(about: AlertAbout, account: string): AlertText {
  switch (about.kind) {
    case 'credit': {
      const { step, leftMicros, creditedMicros, removedMicros } = about
      const credited = dollars(creditedMicros)
      const left = `${dollars(leftMicros)} of ${credited} of credit is left in ${account}.`
      const removed = `, less ${dollars(removedMicros)} that was refunded or removed since then`
      const basis = `${credited} is its credit right after the last top-up${removedMicros > 0 ? removed : ''}.`
      return {
        subject: step === 100 ? 'The credit is used up' : `${step}% of the credit is used`,
        words: [`${left} ${basis}`, ...(step === 100 ? [REFUSED] : [])],
        link: { words: 'See the credit', page: 'credit' },
      }
    }
    case 'account_allowance': {
      const use = { ...about, of: `Requests of ${account}`, code: 'insufficient_credit' }
      return {
        subject: `${about.step}% of the ${ADJECTIVES[about.period]} allowance is used`,
        words: allowanceWords(use),
        link: { words: 'See the account', page: 'credit' },
      }
    }
    case 'key_limit': {
      const { step, keyName, spendMicros, limitMicros } = about
      const spent = `The key "${keyName}" of ${account} has spent ${dollars(spendMicros)} of its limit of ${dollars(limitMicros)}.`
      const refused =
        'Requests with it are refused with key_limit_reached until the limit is raised.'
      return {
        subject: `${step}% of the limit of "${keyName}" is used`,
        words: step === 100 ? [spent, refused] : [spent],
        link: { words: 'See the keys', page: 'keys' },
      }
    }
    case 'key_allowance': {
      const of = `The key "${about.keyName}" of ${account}`
      return {
        subject: `${about.step}% of the ${ADJECTIVES[about.period]} allowance of "${about.keyName}" is used`,
        words: allowanceWords({ ...about, of, code: 'key_limit_reached' }),
        link: { words: 'See the keys', page: 'keys' },
      }
    }
    case 'free_credit_ends': {
      const { amountMicros, endsAtMs } = about
      return {
        subject: `Free credit expires on ${momentText(endsAtMs)}`,
        words: [
          `${dollars(amountMicros)} of free credit of ${account} expires on ${momentText(endsAtMs)} unless it is used.`,
        ],
        link: { words: 'See the credit', page: 'credit' },
      }
    }
    case 'purchase':
      return receiptLetter(about, account)
    case 'reversal':
      return reversalLetter(about, account)
    case 'removal': {
      const { amountMicros, reference, balanceMicros } = about
      const removed = `An operator of the gateway removed ${dollars(amountMicros)} of paid credit from ${account}`
      return {
        subject: `${dollars(amountMicros)} of credit was removed`,
        words: [`${removed}, with the reference "${reference}".`, ...balanceWords(balanceMicros)],
        link: { words: 'See the credit', page: 'credit' },
      }
    }
    default:
      return assertNever(about)
  }
}

const REFUSED = 'Requests are refused with insufficient_credit until credit is added.'

/** The receipt of a purchase. By position: the purchase, and its account in words. */
function receiptLetter(
  about: Extract<AlertAbout, { kind: 'purchase' }>,
  account: string,
): AlertText {
  const { purchaseId, receiptNumber, creditMicros, paid, balanceMicros } = about
  const added = dollars(creditMicros)
  const payment = paid === null ? '' : ` for a payment of ${paidText(paid)}`
  const page = `credit?receipt=${purchaseId}` as const
  return {
    subject: `Receipt${receiptNumber === null ? '' : ` ${receiptNumber}`}: ${added} of credit`,
    words: [
      `${added} of credit was added to ${account}${payment}.`,
      ...balanceWords(balanceMicros),
    ],
    link: { words: 'See the receipt', page },
  }
}

function paidText({ currency, units, decimals = usualDecimals(currency) }: NotedPayment): string {
  if (currency === 'usd') return dollars(Number(units) * MICROS_PER_CENT)
  return tokenText({ currency, units, decimals })
}

/** A refund or dispute of a purchase, or its end. */
function reversalLetter(
  about: Extract<AlertAbout, { kind: 'reversal' }>,
  account: string,
): AlertText {
  const { amountMicros, creditMicros, purchasedAtMs, remainingMicros, balanceMicros } = about
  const purchase = `purchase of ${dollars(creditMicros)} on ${dayOf(purchasedAtMs)}`
  const change = dollars(Math.abs(amountMicros))
  const isRemoved = amountMicros < 0
  const { subject, words } = changeOf(about.cause, {
    purchase,
    isRemoved,
    isPart: remainingMicros > 0,
  })
  const end = isRemoved
    ? `${change} of credit was removed from ${account}.`
    : `${change} of credit was added to ${account} again.`
  const dispute =
    about.cause === 'dispute' ? ['It is added again if the bank decides against the dispute.'] : []
  const remains =
    remainingMicros > 0 ? [`${dollars(remainingMicros)} of this purchase remains.`] : []
  return {
    subject,
    words: [[`${words}: ${end}`, ...dispute, ...remains].join(' '), ...balanceWords(balanceMicros)],
    link: { words: 'See the credit', page: 'credit' },
  }
}

/** The subject and the words for a change of a purchase, by its cause. */
function changeOf(
  cause: Extract<AlertAbout, { kind: 'reversal' }>['cause'],
  {
    purchase,
    isRemoved,
    isPart,
  }: { readonly purchase: string; readonly isRemoved: boolean; readonly isPart: boolean },
): Pick<AlertText, 'subject'> & { readonly words: string } {
  switch (cause) {
    case 'refund':
      return isPart
        ? {
            subject: 'A purchase was partly refunded',
            words: `A part of the ${purchase} was refunded`,
          }
        : { subject: 'A purchase was refunded', words: `The ${purchase} was refunded` }
    case 'dispute':
      return {
        subject: 'The payment of a purchase is disputed',
        words: `The payment of the ${purchase} is disputed`,
      }
    case 'dispute_won':
      return {
        subject: 'The dispute of a purchase is over',
        words: `The bank decided against the dispute of the ${purchase}`,
      }
    case 'refund_failed':
      return {
        subject: 'The refund of a purchase failed',
        words: `A refund of the ${purchase} failed`,
      }
    case null:
      return isRemoved
        ? {
            subject: 'Credit of a purchase was removed',
            words: `The ${purchase} was refunded or disputed`,
          }
        : {
            subject: 'Credit of a purchase was added again',
            words: `A refund or dispute of the ${purchase} did not go through`,
          }
    default:
      return assertNever(cause)
  }
}

function balanceWords(balanceMicros: number): readonly string[] {
  if (balanceMicros > 0) return [`The account has ${dollars(balanceMicros)} of paid credit.`]
  const balance =
    balanceMicros < 0
      ? `The account owes ${dollars(-balanceMicros)}.`
      : 'The account has no paid credit.'
  return [
    balance,
    'Requests that need paid credit are refused with insufficient_credit until credit is added.',
  ]
}

const ADJECTIVES = { day: 'daily', week: 'weekly', month: 'monthly' } as const

function allowanceWords({
  step,
  of,
  code,
  spendMicros,
  allowanceMicros,
  resetsAtMs,
}: Extract<AlertAbout, { kind: 'account_allowance' | 'key_allowance' }> & {
  readonly of: string
  readonly code: string
}): readonly string[] {
  const spent = `${of} spent ${dollars(spendMicros)} of the allowance of ${dollars(allowanceMicros)}.`
  const resets = `It resets on ${momentText(resetsAtMs)}.`
  return step === 100
    ? [`${spent} ${resets}`, `Requests are refused with ${code} until then.`]
    : [`${spent} ${resets}`]
}

/** Whole cents, rounded down: "$9.00". Less than a cent is shown whole. */
function dollars(amountMicros: number): string {
  const cents = Math.floor(amountMicros / MICROS_PER_CENT)
  if (cents === 0 && amountMicros > 0) return showMicros(amountMicros)
  const whole = Math.floor(cents / 100)
  return `$${whole.toLocaleString('en-US')}.${String(cents % 100).padStart(2, '0')}`
}

/** "2027-01-01 UTC". */
function dayOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 10)} UTC`
}
