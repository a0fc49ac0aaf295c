import { expect, test } from 'vitest'
import { at, jsonEventsOf, jsonOf, post, question, simulatorOfFile } from './test/client.ts'

const simulator = simulatorOfFile()

const CALL = { call: 'run', arguments: { command: 'ls -l "a b"' } }

test('acts play out in order on chat, for any prompt, and are billed by their length', async () => {
  simulator.script([{ act: CALL }, { act: { say: 'All done.' } }])
  const called = await jsonOf(await post(simulator, '/chat/completions', question('Hi')))
  const call = at(called, 'choices', 0, 'message', 'tool_calls', 0, 'function')
  expect(at(call, 'name')).toBe('run')
  expect(JSON.parse(String(at(call, 'arguments')))).toEqual(CALL.arguments)
  const said = await jsonOf(await post(simulator, '/chat/completions', question('Hi')))
  expect(at(said, 'choices', 0, 'message', 'content')).toBe('All done.')
  expect(at(said, 'usage', 'completion_tokens')).toBe(2)
  const free = await jsonOf(await post(simulator, '/chat/completions', question('Hi')))
  expect(at(free, 'choices', 0, 'message', 'content')).toContain('You said')
})

test('a call on messages is a tool_use block, whole and in pieces', async () => {
  simulator.script([{ act: CALL }, { act: CALL }])
  const asked = question('Hi', { max_tokens: 100 })
  const whole = await jsonOf(await post(simulator, '/messages', asked))
  expect(at(whole, 'stop_reason')).toBe('tool_use')
  expect(at(whole, 'content', 0, 'name')).toBe('run')
  expect(at(whole, 'content', 0, 'input')).toEqual(CALL.arguments)
  const stream = await post(simulator, '/messages', { ...asked, stream: true })
  const pieces = jsonEventsOf(await stream.text()).filter(
    (event) => event['type'] === 'content_block_delta',
  )
  const json = pieces.map((event) => at(event, 'delta', 'partial_json')).join('')
  expect(JSON.parse(json)).toEqual(CALL.arguments)
})

test('a call on responses is a function_call item, which what is said after a result is not', async () => {
  simulator.script([{ act: CALL }, { act: { say: 'All done.' } }])
  const asked = { model: 'sim/text', input: 'Hi' }
  const called = await jsonOf(await post(simulator, '/responses', asked))
  expect(at(called, 'output', 0, 'type')).toBe('function_call')
  expect(JSON.parse(String(at(called, 'output', 0, 'arguments')))).toEqual(CALL.arguments)
  const result = { type: 'function_call_output', call_id: 'call_1', output: 'a b' }
  const said = await jsonOf(await post(simulator, '/responses', { ...asked, input: [result] }))
  expect(at(said, 'output', 0, 'content', 0, 'text')).toBe('All done.')
})

test('an act keeps to the output cap', async () => {
  simulator.script({ act: { say: 'one two three four' } })
  const cut = await jsonOf(
    await post(simulator, '/chat/completions', question('Hi', { max_tokens: 2 })),
  )
  expect(at(cut, 'choices', 0, 'message', 'content')).toBe('one two')
  expect(at(cut, 'choices', 0, 'finish_reason')).toBe('length')
})
