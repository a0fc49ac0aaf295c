import { expect, test } from 'vitest'
import { byMethod, methodName } from './purchase-words.ts'

test('a deposit is named by its token and chain, not by the ID of its method', () => {
  const deposit = {
    method: 'base-usdc',
    paid: { currency: 'USDC', units: '12500000' },
    transaction: { chain_id: 8453, hash: '0x5f21' },
  }
  expect(methodName(deposit)).toBe('USDC on Base')
  expect(byMethod(deposit)).toBe('with USDC on Base')
  const transaction = { ...deposit.transaction, chain_id: 31_337 }
  expect(methodName({ ...deposit, transaction })).toBe('USDC on chain 31337')
})

test('a payment by card is named so, also before it is paid', () => {
  const card = { method: 'card', paid: { currency: 'usd', units: '2500' }, transaction: null }
  expect(methodName(card)).toBe('Card')
  expect(byMethod({ ...card, paid: null })).toBe('by card')
})
