import type { Statement } from '../../api/answers.ts'
import { CENT_MICROS, money, signedMoney } from '../../format/money.ts'
import { isSpend } from './balance-days.ts'

/** A line or an entry, as far as its amounts are concerned. */
export type Changed = Pick<Statement['lines'][number], 'kind' | 'amount' | 'balance'>

/** The amount, in cents if it is whole cents and not for requests. */
export function changeText({ kind, amount }: Changed): string {
  return !isSpend({ kind }) && amount % CENT_MICROS === 0 ? signedMoney(amount) : spendText(amount)
}

/** An amount for requests, with four places; one that came back in whole cents, with two. */
export function spendText(amountMicros: number): string {
  const places = amountMicros > 0 && amountMicros % CENT_MICROS === 0 ? 2 : 4
  return signedMoney(amountMicros, places)
}

/** With the places of the amount beside it, or more, so that each balance follows from the one before. */
export function balanceText({ kind, balance }: Changed): string {
  return money(balance, isSpend({ kind }) || balance % CENT_MICROS !== 0 ? 4 : 2)
}
