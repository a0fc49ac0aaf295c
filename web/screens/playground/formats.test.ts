import { expect, test } from 'vitest'
import type { Model } from '../../api/answers.ts'
import { askedModel, bodyOf } from './formats.ts'

function model(endpoints: string[], parameters = ['max_tokens']): Model {
  return {
    id: 'acme/sage',
    object: 'model',
    name: 'sage',
    created: 0,
    description: '',
    hugging_face_id: '',
    open_weights: false,
    context_length: 200_000,
    endpoints,
    supported_parameters: parameters,
    pricing: {},
    top_provider: { max_completion_tokens: 9_000 },
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
  }
}

const hello = { role: 'user', content: 'Hello.' } as const
const said = [{ role: 'user', content: 'Hello.' }]

test.each([
  [
    'chat, with the field of its cap',
    model(['messages', 'chat']),
    { messages: [{ role: 'system', content: 'Be brief.' }, ...said], max_tokens: 50 },
  ],
  [
    'chat, to a model that reasons',
    model(['chat'], ['max_completion_tokens']),
    { messages: [{ role: 'system', content: 'Be brief.' }, ...said], max_completion_tokens: 50 },
  ],
  ['messages', model(['messages']), { system: 'Be brief.', messages: said, max_tokens: 50 }],
  [
    'responses, which are not stored',
    model(['responses']),
    { instructions: 'Be brief.', input: said, store: false, max_output_tokens: 50 },
  ],
])('a body is in the format of its model: %s', (_, of, body) => {
  const asked = askedModel(of.id, of)
  const settings = { system: 'Be brief.', temperature: 1, isStreamed: true }
  expect(bodyOf([hello], { ...settings, model: asked, capTokens: 50 })).toEqual({
    model: 'acme/sage',
    temperature: 1,
    stream: true,
    ...body,
  })
})

test('messages without a cap of the user have the longest answer of the model', () => {
  const asked = askedModel('acme/sage', model(['messages']))
  const settings = { system: ' ', temperature: null, isStreamed: false, capTokens: null }
  expect(bodyOf([hello], { ...settings, model: asked })).toEqual({
    model: 'acme/sage',
    messages: said,
    max_tokens: 9_000,
  })
})
