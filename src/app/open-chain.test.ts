import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Waiting } from '../sale/chain-look.ts'
import { lookLog } from './open-sale.ts'

test('a waiting token is logged with its reason, as an error only if it has no rate', () => {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  const logLook = lookLog(log)
  const looked = (waiting: Waiting) => logLook({ kind: 'idle', to: 9, added: 0, waiting })
  looked({ USDT: { kind: 'noRate', reason: 'its price is stale' } })
  looked({ USDT: { kind: 'noRate', reason: 'its price is stale' } })
  looked({ USDT: { kind: 'catchingUp', reason: 'it is being scanned' } })
  looked({ USDT: { kind: 'nodes', reason: 'nodes disagree' } })
  looked({})
  const named = (level: number, reason: string) => ({
    level,
    token: 'USDT',
    reason,
    msg: 'deposits of a token wait',
  })
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    named(50, 'its price is stale'),
    named(30, 'it is being scanned'),
    named(40, 'nodes disagree'),
    { level: 30, token: 'USDT', msg: 'deposits of a token are credited again' },
  ])
})
