import { describe, expect, test } from 'vitest'
import { Bench } from './bench.ts'
import { jsonOf } from './json-reading.ts'
import { ROWS, STREAMED_ROWS } from './rows.ts'
import { eventsOf } from './stream-event.ts'

const bench = Bench.ofFile()

const TOOL_ROWS = ROWS.flatMap((row) => (row.tools === null ? [] : [{ ...row, tools: row.tools }]))
const STREAMED_TOOL_ROWS = STREAMED_ROWS.flatMap((row) =>
  row.tools === null ? [] : [{ ...row, tools: row.tools }],
)

describe.each(TOOL_ROWS)('$endpoint', (row) => {
  const { tools } = row

  test('a tool is called, and its result goes back into an answer', async () => {
    const asked = await bench.send(row, { body: tools.asking })
    expect(asked.httpStatus, asked.text).toBe(200)
    expect(tools.stopped.word(asked.json)).toBe(tools.stopped.forTool)
    const { name, argumentText } = tools.call(asked.json)
    expect(name).toBe('get_weather')
    expect(jsonOf(argumentText)).toEqual({ city: expect.any(String) })

    const body = tools.answering(asked.json, 'Sunny, 21 degrees')
    const answered = await bench.send(row, { body })
    expect(answered.httpStatus, answered.text).toBe(200)
    expect(tools.stopped.word(answered.json)).not.toBe(tools.stopped.forTool)
    expect(row.output(answered.json)).toContain('Sunny, 21 degrees')
  })
})

test.each(STREAMED_TOOL_ROWS)('$endpoint: a streamed call has the same arguments', async (row) => {
  const { tools } = row
  const whole = await bench.send(row, { body: tools.asking })
  const streamed = await bench.send(row, { body: tools.asking, stream: true })
  const argumentText = tools.streamedArguments(eventsOf(streamed.text))
  expect(argumentText).not.toBe('')
  expect(jsonOf(argumentText)).toEqual(jsonOf(tools.call(whole.json).argumentText))
})

test('after all of it, the ledger is exact', () => bench.expectExactLedger())
