import { expect, test } from 'vitest'
import { askPlaces, type Transfer } from './questions.ts'

const word = (digit: string) => `0x${digit.repeat(64)}`
const address = (digit: string) => `0x${digit.repeat(40)}`
const TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const TRANSFER: Transfer = {
  block: 7,
  blockHash: word('b'),
  txHash: word('a'),
  logIndex: 3,
  token: address('c'),
  from: address('d'),
  to: address('e'),
  units: 5n,
}

const LOG = {
  address: TRANSFER.token,
  topics: [TOPIC, `0x${'0'.repeat(24)}${'d'.repeat(40)}`, `0x${'0'.repeat(24)}${'e'.repeat(40)}`],
  data: `0x${'0'.repeat(63)}5`,
  blockNumber: '0x7',
  blockHash: TRANSFER.blockHash,
  transactionHash: TRANSFER.txHash,
  logIndex: '0x3',
}

const OTHER_LOG = { address: address('f'), topics: [], data: '0x' }

/** The places that are found where a receipt and the header of its block have these members otherwise. */
function placesWith(receipt: object, header: object = {}) {
  const answers = [
    {
      status: '0x1',
      blockHash: TRANSFER.blockHash,
      blockNumber: '0x7',
      transactionHash: TRANSFER.txHash,
      logs: [OTHER_LOG, LOG],
      ...receipt,
    },
    { number: '0x7', hash: TRANSFER.blockHash, ...header },
  ]
  return askPlaces({ name: 'node', ask: async () => answers }, [TRANSFER])
}

test('a transfer is found at its place among the logs of its transaction', async () => {
  expect(await placesWith({})).toEqual([1])
})

test.each([
  ['whose transaction failed', { status: '0x0' }, {}],
  ['whose receipt is of another block', { blockHash: word('9') }, {}],
  ['whose block is another one now', {}, { hash: word('9') }],
  ['whose log has another amount', { logs: [{ ...LOG, data: `0x${'0'.repeat(63)}6` }] }, {}],
  ['whose log has another number', { logs: [{ ...LOG, logIndex: '0x4' }] }, {}],
])('a transfer %s has no place', async (_, receipt, header) => {
  expect(await placesWith(receipt, header)).toEqual([null])
})
