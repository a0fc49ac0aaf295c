import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NAME_SCOPES, refuseLookalikes } from './client-names.ts'
import type { WireFormat } from './format.ts'
import { FORMATS } from './formats.ts'
import { callOf, LEAST_BODIES, refusalOf } from './testing/exchange.ts'

type Members = { readonly [member: string]: unknown }

const EVERY_FORMAT = FORMATS.map((format) => [format.endpoint, format] as const)
const NAMES = [...NAME_SCOPES.keys()]

function callWith(format: WireFormat, members: Members) {
  return callOf(format, { ...LEAST_BODIES[format.endpoint], ...members })
}

const SEARCH = { type: 'openrouter:web_search' }
const FUNCTION = { type: 'function', name: 'f' }
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

const LOOKALIKES: readonly (readonly [Members, string])[] = [
  [{ Model: 'a/b' }, 'Model'],
  [{ MODELS: ['a/b'] }, 'MODELS'],
  [{ Provider: {} }, 'Provider'],
  [{ Plugins: [] }, 'Plugins'],
  [{ Stream: true }, 'Stream'],
  [{ N: 4 }, 'N'],
  [{ Max_Tokens: 1 }, 'Max_Tokens'],
  [{ Max_tool_calls: 1 }, 'Max_tool_calls'],
  [{ USER: 'me' }, 'USER'],
  [{ Model: null }, 'Model'],
  [{ 'max_to\u212aens': 1 }, 'max_to\u212aens'],
  [{ 'mode\u017f': 1, 'me\u017fsages': [] }, 'me\u017fsages'],
  [{ preﬅ: 1, 'pre\u017fet': 'x' }, 'pre\u017fet'],
  [{ 'f\u0131le': 1, 'plug\u0131ns': [] }, 'f\u0131le'],
  [{ 'plug\u0130ns': [] }, 'plug\u0130ns'],
  [{ 'plugi\u0307ns': [] }, 'plugi\u0307ns'],
  [{ plugins: [{ ID: 'web' }] }, 'plugins[0].ID'],
  [
    { plugins: [{ id: 'file-parser', pdf: { engine: 'native', Engine: 'mistral-ocr' } }] },
    'plugins[0].pdf.Engine',
  ],
  [{ tools: [FUNCTION, { ...FUNCTION, Type: 'x_search' }] }, 'tools[1].Type'],
  [{ tools: [{ ...SEARCH, X_search: {} }] }, 'tools[0].X_search'],
  [{ tools: [{ ...SEARCH, Max_Uses: 9 }] }, 'tools[0].Max_Uses'],
  [{ tools: [{ ...SEARCH, parameters: { Max_Results: 25 } }] }, 'tools[0].parameters.Max_Results'],
  [{ tool_choice: { type: 'auto', Type: 'shell' } }, 'tool_choice.Type'],
  [{ stream_options: { Include_usage: true } }, 'stream_options.Include_usage'],
  [{ reasoning: { Max_tokens: 1 } }, 'reasoning.Max_tokens'],
  [{ web_search_options: { X_Search: {} } }, 'web_search_options.X_Search'],
  [{ extra: [{ content: [{ ...IMAGE, Image_URL: {} }] }] }, 'extra[0].content[0].Image_URL'],
  [{ extra: [{ type: 'image', source: { type: 'url', Url: 'x' } }] }, 'extra[0].source.Url'],
  [{ extra: [[{ Cache_Control: {} }]] }, 'extra[0][0].Cache_Control'],
]

/** Objects with a client's own content, or with a schema. */
const FREE = { Model: 1, Type: 'x', URL: 'y', Max_Tokens: 2, image_URL: { Url: 'z' } }

const LEFT_ALONE: readonly Members[] = [
  { metadata: FREE },
  { tools: [{ ...FUNCTION, parameters: FREE, function: { name: 'f', parameters: FREE } }] },
  { functions: [{ name: 'f', parameters: { type: 'object', properties: FREE } }] },
  { extra: [{ type: 'tool_use', id: 'a', name: 'f', input: FREE }] },
  { extra: [{ type: 'function_call', name: 'f', arguments: FREE }] },
  { extra: [{ tool_calls: [{ type: 'function', function: { name: 'f', arguments: FREE } }] }] },
  { extra: [{ type: 'custom_tool_call', name: 'f', input: FREE }] },
  { extra: [{ type: 'local_shell_call', action: { env: { USER: 'me', FILE: 'x' } } }] },
  { extra: [{ name: 'f', input_schema: FREE }] },
  { extra: [{ name: 'f', input_schema: {}, input_examples: [FREE, { deep: [FREE] }] }] },
  { extra: [{ metadata: FREE }] },
  { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: FREE } } },
  { response_format: { type: 'json_object', schema: FREE } },
  { text: { format: { type: 'json_schema', name: 'a', schema: FREE } } },
  { guided_json: { type: 'object', properties: FREE, $defs: FREE } },
  { logit_bias: { User: 1, N: 2, Model: 3 } },
  { extra: { mimeType: 'x', imageUrl: 'y', maxTokens: 3, Mode: 'z', s: 'ſ', ſ: 1 } },
]

describe.each(EVERY_FORMAT)('on %s', (_, format) => {
  test.each(LOOKALIKES)('%j is refused by its name', (members, param) => {
    expect(refusalOf(() => callWith(format, members))).toEqual({ code: 'invalid_parameter', param })
  })

  test.each(LEFT_ALONE)('%j is not refused', (members) => {
    expect(() => callWith(format, members)).not.toThrow()
  })

  test('an escaped name is resolved', () => {
    const source = JSON.stringify(LEAST_BODIES[format.endpoint])
    const escaped = String.raw`{"\u004dodel":"a/b",${source.slice(1)}`
    expect(refusalOf(() => callOf(format, escaped)).param).toBe('Model')
  })
})

test('names are read in the items of a response, and not in the arguments of a call', () => {
  const responses = FORMATS.find(({ endpoint }) => endpoint === 'responses')
  if (responses === undefined) throw new Error('no responses')
  const withItem = (item: object) => () => callWith(responses, { input: [item] })
  const part = { type: 'input_image', Image_url: 'https://example.org/a.png' }
  const refused = { role: 'user', content: [part] }
  expect(refusalOf(withItem(refused)).param).toBe('input[0].content[0].Image_url')
  expect(refusalOf(withItem({ type: 'item_reference', ID: 'a' })).param).toBe('input[0].ID')
  const call = { type: 'function_call', name: 'f', call_id: 'c', arguments: FREE }
  expect(withItem(call)).not.toThrow()
  expect(withItem({ ...call, type: 'custom_tool_call', input: FREE })).not.toThrow()
})

test('every name has lookalikes of all letters that Unicode folds into its letters, and no others', () => {
  const folded = new Map<string, string[]>()
  const isLetter = /^[a-z]$/iu
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    const forms = [character, character.toLowerCase(), character.toUpperCase()]
    const letter = forms.find((form) => isLetter.test(form))
    if (letter === undefined) continue
    // U+212A and U+017F are matched by the expression only.
    const ascii = [...'abcdefghijklmnopqrstuvwxyz'].find((each) =>
      new RegExp(`^${each}$`, 'iu').test(letter),
    )
    if (ascii === undefined) throw new Error(`no letter for ${character}`)
    folded.set(ascii, [...(folded.get(ascii) ?? []), character])
  }
  expect(folded.get('k')).toEqual(['K', 'k', '\u212a'])
  expect(folded.get('s')).toEqual(['S', 's', '\u017f'])
  expect(folded.get('i')).toEqual(['I', 'i', '\u0131'])
  for (const name of NAMES) {
    for (const [index, letter] of [...name].entries()) {
      for (const character of folded.get(letter) ?? []) {
        const like = name.slice(0, index) + character + name.slice(index + 1)
        const refuse = () => refuseLookalikes({ [like]: 1 })
        if (like === name) expect(refuse).not.toThrow()
        else expect(refusalOf(refuse), like).toEqual({ code: 'invalid_parameter', param: like })
      }
    }
  }
})

test('no name in lower case is a lookalike', () => {
  for (const name of NAMES) expect(name).toMatch(/^[a-z_]+$/)
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9_.$-]{0,30}$/), (key) => {
      expect(() => refuseLookalikes({ [key]: [{ [key]: 1 }] })).not.toThrow()
    }),
  )
})

test('the first of several lookalikes is named, with its place', () => {
  const body = { a: { b: [{ c: 1 }, { Type: 1 }] }, d: { Url: 1 } }
  expect(refusalOf(() => refuseLookalikes(body)).param).toBe('a.b[1].Type')
  expect(refusalOf(() => refuseLookalikes({ ...body, Model: 1 })).param).toBe('Model')
})
