import { MessageChannel } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Answers, Line, type LineMessage } from './line.ts'

type Asked = {
  readonly double: { readonly asked: number; readonly answer: number }
  readonly fail: { readonly asked: null; readonly answer: undefined }
  readonly hang: { readonly asked: null; readonly answer: undefined }
}
type Nothing = Record<never, never>

let channel: MessageChannel
let asking: Line<Asked, Nothing>
let heard: number[]

beforeEach(() => {
  channel = new MessageChannel()
  heard = []
  const answers: Answers<Asked> = {
    double: (number) => {
      heard.push(number)
      return number * 2
    },
    fail: async () => {
      throw new Error('it can not be done')
    },
    hang: () => new Promise(() => {}),
  }
  const { port1, port2 } = channel
  asking = new Line<Asked, Nothing>({
    post: (message, ports) => port1.postMessage(message, ports),
    answers: {},
  })
  const answering = new Line<Nothing, Asked>({
    post: (message, ports) => port2.postMessage(message, ports),
    answers,
  })
  port1.on('message', (message: LineMessage<Asked, Nothing>) => asking.received(message))
  port2.on('message', (message: LineMessage<Nothing, Asked>) => answering.received(message))
})

afterEach(() => channel.port1.close())

test('each question has its own answer, and what is only told has been heard before later answers', async () => {
  asking.tell('double', 1)
  expect(await Promise.all([asking.ask('double', 2), asking.ask('double', 3)])).toEqual([4, 6])
  expect(heard).toEqual([1, 2, 3])
})

test('a question that the other side fails at says so, and what is only told does no harm', async () => {
  asking.tell('fail', null)
  await expect(asking.ask('fail', null)).rejects.toThrow('it can not be done')
  expect(await asking.ask('double', 4)).toBe(8)
})

test('a line that is hung up fails what it waits for', async () => {
  const waiting = expect(asking.ask('hang', null)).rejects.toThrow('gone')
  asking.hangUp()
  await waiting
})
