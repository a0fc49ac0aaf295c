import { afterEach, beforeEach, expect, test } from 'vitest'
import { AttachedThread } from '../../store/threads/attached-thread.ts'
import { StoreThread } from '../../store/threads/store-thread.ts'
import { WriterLink } from './writer-link.ts'

let writer: StoreThread<string, string>

beforeEach(async () => {
  const entry = new URL('../../store/testing/scripted-thread.ts', import.meta.url)
  writer = new StoreThread({ entry, startWith: null })
  await expect(writer.call('first')).rejects.toThrow('not open yet')
})

afterEach(() => writer.close())

test('a worker whose writer has died is given a port to the next one', async () => {
  const link = new WriterLink(writer)
  const worker = new AttachedThread<string, string>()
  worker.attach(link.port)
  const again = Promise.withResolvers<void>()
  link.keep((port) => {
    worker.attach(port)
    again.resolve()
  })
  await expect(worker.call('die')).rejects.toThrow('the store thread ended')
  await again.promise
  await expect(worker.call('first of the next')).rejects.toThrow('not open yet')
  expect(await worker.call('on')).toBe('on answered')
  worker.close()
  await link.ended()
})

test('a worker that is gone is given nothing more', async () => {
  const link = new WriterLink(writer)
  link.keep(() => {
    throw new Error('given to nobody')
  })
  link.port.close()
  await link.ended()
})
