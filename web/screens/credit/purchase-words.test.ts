import { expect, test } from 'vitest'
import { reversalName } from '../../../src/vocabulary/entry-words.ts'
import { byMethod, methodName, paidText, purchaseWords } from './purchase-words.ts'

test('a deposit is named by its token and chain, not by the ID of its method', () => {
  const deposit = {
    method: 'base-usdc',
    paid: { currency: 'USDC', units: '12500000', decimals: 6 },
    transaction: { chain_id: 8453, hash: '0x5f21' },
  }
  expect(methodName(deposit)).toBe('USDC on Base')
  expect(byMethod(deposit)).toBe('with USDC on Base')
  const transaction = { ...deposit.transaction, chain_id: 31_337 }
  expect(methodName({ ...deposit, transaction })).toBe('USDC on chain 31337')
})

test('a payment by card is called that even before it is paid', () => {
  const card = {
    method: 'card',
    paid: { currency: 'usd', units: '2500', decimals: 2 },
    transaction: null,
  }
  expect(methodName(card)).toBe('Card')
  expect(byMethod({ ...card, paid: null })).toBe('by card')
})

test('a refund is a payment below zero', () => {
  expect(paidText({ currency: 'usd', units: '-1000', decimals: 2 })).toBe('−\u2060$10.00')
})

test.each([
  ['12500000', 6, '12.50 USDC'],
  ['12500000000000000000', 18, '12.50 USDC'],
  ['12', 0, '12 USDC'],
  ['12', null, '12 units of USDC'],
])('%s units of a token with %s decimals are %s', (units, decimals, shown) => {
  expect(paidText({ currency: 'USDC', units, decimals })).toBe(shown)
})

test('a purchase that was refunded or disputed is no longer called credited', () => {
  const wordOf = (state: string, reversal: Parameters<typeof purchaseWords>[0]['reversal']) =>
    purchaseWords({ state, reversal }).word
  expect(wordOf('credited', null)).toBe('Credited')
  expect(wordOf('credited', 'partly_refunded')).toBe('Partly refunded')
  expect(wordOf('credited', 'refunded')).toBe('Refunded')
  expect(wordOf('credited', 'disputed')).toBe('Disputed')
  expect(wordOf('credited', 'dispute_lost')).toBe('Dispute lost')
  expect(wordOf('credited', 'dispute_won')).toBe('Dispute won')
  // An operator still decides about it.
  expect(wordOf('held', 'disputed')).toBe('Paid, being checked')
})

test('a change is named by its cause, or by both possible causes if the cause is unknown', () => {
  expect(reversalName({ amount: -5, cause: 'dispute' })).toBe('Dispute')
  expect(reversalName({ amount: 5, cause: 'refund_failed' })).toBe('Refund failed')
  expect(reversalName({ amount: -5, cause: null })).toBe('Refund or dispute')
  expect(reversalName({ amount: 5, cause: null })).toBe('Dispute won or refund failed')
})
