import { expect, test } from 'vitest'
import { NAME_SCOPES } from '../../formats/client-names.ts'
import { sizeCall } from '../../formats/format.ts'
import { FORMATS } from '../../formats/formats.ts'
import {
  bodyOf,
  DEFAULT_PUBLIC_NAMES,
  LEAST_BODIES,
  offerWith,
  refusalOf,
} from '../../formats/testing/exchange.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/walk.ts'
import { NO_RULES } from '../testing/upstream-settings.ts'
import { wireOf } from './testing/exchange.ts'

type Members = { readonly [member: string]: unknown }

const SEARCH = { type: 'openrouter:web_search' }
const FUNCTION = { type: 'function', name: 'f' }

/** Bodies that reach every reader, each without a member that is then looked for. */
const READ: readonly Members[] = [
  {},
  { plugins: [{}], tools: [] },
  { plugins: [{ id: 'file-parser', pdf: {} }] },
  { plugins: [{ id: 'file-parser' }] },
  { plugins: [{ id: 'file-parser', pdf: { engine: 'hosted-ai' } }] },
  { tools: [{}] },
  { tools: [SEARCH], tool_choice: {} },
  { tools: [SEARCH], tool_choice: { allowed_tools: {} } },
  { tools: [{ ...SEARCH, parameters: {} }] },
  { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  { tools: [{ ...FUNCTION, function: {}, custom: {} }], tool_choice: 'f' },
  { tool_choice: { type: 'function', function: {}, custom: {} } },
  { stream_options: {} },
  { web_search_options: {} },
  { reasoning: {}, thinking: {}, prediction: {}, context_management: { edits: [{}] } },
  { input: [{ type: 'message', content: [] }] },
  { input: [{ role: 'user' }] },
  { input: [{ id: 'a' }] },
  { input: [{ content: [] }] },
  { extra: [{ json_schema: {}, parameters: {}, input: {}, schema: {} }] },
  ...['image', 'input_image', 'image_url', 'file', 'input_file', 'document', 'video_url'].flatMap(
    (type) => [
      { extra: [{ type }] },
      { extra: [{ type, source: {} }] },
      { extra: [{ type, [type]: {} }] },
      { extra: [{ type, file: {} }] },
      { extra: [{ type, source: { data: 'iVBORw0KGgo=' } }] },
    ],
  ),
  ...['audio', 'file', 'image_url', 'video_url', 'input_video', 'input_audio', 'input_file'].map(
    (name) => ({ extra: [{ [name]: {} }] }),
  ),
  { image: {}, images: [{}], input_references: [{}] },
]

/** The object, reporting each absent member that is read by name: walks never read those. */
function watched(object: JsonObject, onMiss: (name: string, scope: 'root' | 'any') => void) {
  const watch = (value: JsonValue, scope: 'root' | 'any'): JsonValue => {
    if (typeof value !== 'object' || value === null) return value
    return new Proxy(value, {
      get: (target, name, receiver) => {
        if (isJsonObject(value)) missed(target, name, scope)
        const found: JsonValue = Reflect.get(target, name, receiver)
        return Object.hasOwn(target, name) ? watch(found, 'any') : found
      },
      getOwnPropertyDescriptor: (target, name) => {
        if (isJsonObject(value)) missed(target, name, scope)
        return Reflect.getOwnPropertyDescriptor(target, name)
      },
    })
  }
  const missed = (target: object, name: string | symbol, scope: 'root' | 'any'): void => {
    if (typeof name === 'string' && !Object.hasOwn(target, name)) onMiss(name, scope)
  }
  const root = watch(object, 'root')
  if (!isJsonObject(root)) throw new Error('no object')
  return root
}

/** The bodies of a format that have these members: with all that it requires, and without some of it. */
function bodiesWith(format: (typeof FORMATS)[number], members: Members): readonly Members[] {
  const least = LEAST_BODIES[format.endpoint]
  const [first = ''] = Object.keys(members)
  return [
    { ...least, ...members },
    members,
    { ...members, model: 'a/b' },
    { ...least, [first]: members[first] },
  ]
}

/** Reads a body and rewrites it for the provider, and notes each absent member that was looked for. */
function readWatched(
  format: (typeof FORMATS)[number],
  source: Members,
  note: (name: string, scope: 'root' | 'any') => void,
): void {
  const { bytes, root } = bodyOf(source)
  const body = { bytes, root: watched(root, note) }
  const publicNames = DEFAULT_PUBLIC_NAMES
  const rest = { outputCapTokens: 1, accountTag: 'tag', publicNames, ...NO_RULES }
  try {
    const call = sizeCall(format.readCall(body, DEFAULT_PUBLIC_NAMES))
    for (const edit of wireOf(format).rewrites({ call, body, offer: offerWith(), ...rest })) {
      const [name] = edit.path
      if (typeof name === 'string') note(name, 'root')
    }
  } catch (error) {
    // Any other error than a refusal is thrown.
    refusalOf(() => {
      throw error
    })
  }
}

test('the guarded names are those that the formats read, at the same places', () => {
  const read = new Map<string, Set<'root' | 'any'>>()
  const note = (name: string, scope: 'root' | 'any'): void => {
    read.set(name, (read.get(name) ?? new Set()).add(scope))
  }
  for (const format of FORMATS) {
    for (const source of READ.flatMap((members) => bodiesWith(format, members))) {
      readWatched(format, source, note)
    }
  }
  const scopes = [...read].map(
    ([name, found]) => [name, found.has('any') ? 'any' : 'root'] as const,
  )
  const unguarded = scopes.filter(([name, scope]) => {
    const guarded = NAME_SCOPES.get(name)
    return guarded !== 'any' && guarded !== scope
  })
  expect(unguarded).toEqual([])
  expect([...NAME_SCOPES.keys()].filter((name) => !read.has(name))).toEqual([])
})
