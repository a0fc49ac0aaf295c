import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { startFailureOf } from './start-failure.ts'

test('TOLLGATE_REUSE_PORT is refused on a system without shared ports, with what to do', () => {
  const error = Object.assign(new Error('listen ENOTSUP'), { syscall: 'listen', code: 'ENOTSUP' })
  expect(startFailureOf(error, readConfig({}))?.message).toBe(
    'this operating system does not let several processes listen on one port: leave TOLLGATE_REUSE_PORT out',
  )
})
