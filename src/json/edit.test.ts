import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editJson, type JsonEdit, type JsonPath } from './edit.ts'
import {
  type JsonText,
  jsonObjectTexts,
  jsonSources,
  meaningOf,
  meaningOfValue,
  memberNames,
  printJson,
} from './testing/json-text.ts'
import { isJsonObject, type JsonBody } from './walk.ts'

function bodyOf(text: string): JsonBody {
  const root = JSON.parse(text)
  if (!isJsonObject(root)) throw new TypeError('not an object')
  return { bytes: Buffer.from(text), root }
}

const edited = (text: string, ...edits: readonly JsonEdit[]) =>
  Buffer.concat(editJson(bodyOf(text), edits)).toString()
const set = (path: JsonPath, json: string): JsonEdit => ({ kind: 'set', path, json })
const append = (path: JsonPath, json: string): JsonEdit => ({ kind: 'append', path, json })
const remove = (path: JsonPath): JsonEdit => ({ kind: 'remove', path })

describe('an edit', () => {
  test.each([
    [
      'replaces a value and nothing else',
      '{ "n" : 1.0 ,"model" : "a" , "z":1e5 }',
      [set(['model'], '"b"')],
      '{ "n" : 1.0 ,"model" : "b" , "z":1e5 }',
    ],
    ['adds a member after the last one', '{"a":1 }', [set(['b'], '2')], '{"a":1,"b":2 }'],
    ['adds a member to an empty object', '{ }', [set(['b'], '2')], '{"b":2 }'],
    ['adds members in the order given', '{}', [set(['b'], '2'), set(['a'], '1')], '{"b":2,"a":1}'],
    [
      'adds an element after the last one',
      '{"p":[1 , 2\n]}',
      [append(['p'], '3')],
      '{"p":[1 , 2,3\n]}',
    ],
    [
      'adds an element to an empty array',
      '{"p":[ ]}',
      [append(['p'], '3'), append(['p'], '4')],
      '{"p":[3,4 ]}',
    ],
    [
      'finds a key by what it means',
      '{"m\\u006fdel":1}',
      [set(['model'], '2')],
      '{"m\\u006fdel":2}',
    ],
    ['writes a key that needs escapes', '{}', [set(['"\n'], '1')], '{"\\"\\n":1}'],
    ['finds an empty key', '{"":{"":1}}', [set(['', ''], '2')], '{"":{"":2}}'],
    [
      'finds keys beyond ASCII',
      '{"é":1,"\\u00e9e":2,"😀":3}',
      [set(['éé'], '0'), set(['ée'], '9'), set(['😀'], '8')],
      '{"é":1,"\\u00e9e":9,"😀":8,"éé":0}',
    ],
    [
      'takes no key for its beginning or end',
      '{"mod":1,"models":2,"odel":3}',
      [set(['model'], '4')],
      '{"mod":1,"models":2,"odel":3,"model":4}',
    ],
    [
      'takes no value for a key',
      '{"a":"model","b":["model",{"x":"model"}]}',
      [set(['model'], '1')],
      '{"a":"model","b":["model",{"x":"model"}],"model":1}',
    ],
    [
      'takes no nested member for its own',
      '{"a":{"model":1}}',
      [set(['model'], '2')],
      '{"a":{"model":1},"model":2}',
    ],
    [
      'treats __proto__ as any member',
      '{"__proto__":{"a":1}}',
      [set(['__proto__', 'a'], '2'), set(['b'], '3')],
      '{"__proto__":{"a":2},"b":3}',
    ],
    [
      'reaches into arrays',
      '{"t":[0,{"u":[[1,2]]}]}',
      [set(['t', 1, 'u', 0, 1], '9')],
      '{"t":[0,{"u":[[1,9]]}]}',
    ],
    [
      'replaces an array element',
      '{"t":[0,{"a":1},"x"]}',
      [set(['t', 1], 'null')],
      '{"t":[0,null,"x"]}',
    ],
    [
      'is not misled by brackets and quotes in strings',
      '{"a":"}]\\"{[","b":"\\\\","c":1}',
      [set(['c'], '2')],
      '{"a":"}]\\"{[","b":"\\\\","c":2}',
    ],
    [
      'edits inside and beside a container at once',
      '{"o":{"x":1},"p":[]}',
      [set(['q'], '0'), append(['p'], '1'), set(['o', 'y'], '2'), set(['o', 'x'], '3')],
      '{"o":{"x":3,"y":2},"p":[1],"q":0}',
    ],
    ['takes out the first member', '{ "a": 1, "b":2}', [remove(['a'])], '{ "b":2}'],
    ['takes out the last member', '{"a":1 , "b":[2]}', [remove(['b'])], '{"a":1}'],
    ['takes out all members', '{"a":1, "b":{"c":2} }', [remove(['a']), remove(['b'])], '{}'],
    ['takes out one below', '{"a":{"b":1,"c":2}}', [remove(['a', 'b'])], '{"a":{"c":2}}'],
    [
      'adds where all others are taken out',
      '{"a":1,"b":2 }',
      [remove(['a']), remove(['b']), set(['c'], '3')],
      '{"c":3}',
    ],
    [
      'changes and adds beside what is taken out',
      '{"a":1,"b":2,"c":3,"d":4}',
      [remove(['b']), remove(['d']), set(['c'], '0'), set(['e'], '5')],
      '{"a":1,"c":0,"e":5}',
    ],
    ['keeps the white space around the body', ' \n{"a":1}\n ', [set(['a'], '2')], ' \n{"a":2}\n '],
    ['writes text beyond ASCII', '{"a":1}', [set(['a'], '"né😀"')], '{"a":"né😀"}'],
  ] as const)('%s', (_, before, edits, after) => {
    expect(edited(before, ...edits)).toBe(after)
  })

  test('of nothing gives the very same bytes', () => {
    const body = bodyOf('{"a":1}')
    expect(editJson(body, [])).toEqual([body.bytes])
  })

  test('finds a key after long strings full of quotes and backslashes', () => {
    const long = JSON.stringify(`${'\\'.repeat(1_001)}${'x'.repeat(100)}"${'\\"'.repeat(1_001)}`)
    expect(edited(`{"a":${long},"b":1}`, set(['b'], '2'))).toBe(`{"a":${long},"b":2}`)
  })

  test('finds a key after 100,000 nested arrays', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(edited(`{"a":${deep},"b":1}`, set(['b'], '2'))).toBe(`{"a":${deep},"b":2}`)
  })

  test.each([
    ['the same member twice', '{"a":1}', [set(['a'], '2'), set(['a'], '3')]],
    ['the same new member twice', '{}', [set(['a'], '2'), set(['a'], '3')]],
    ['a value and what is in it', '{"a":{"b":1}}', [set(['a'], '2'), set(['a', 'b'], '3')]],
    ['an array and its end', '{"a":[]}', [set(['a'], '2'), append(['a'], '3')]],
    ['a member of an object that is not there', '{}', [set(['a', 'b'], '1')]],
    ['a member of what is no object', '{"a":1}', [set(['a', 'b'], '1')]],
    ['a member of an array', '{"a":[]}', [set(['a', 'b'], '1')]],
    ['an element that is not there', '{"a":[1]}', [set(['a', 1], '2')]],
    ['an element of an object', '{"a":{"0":1}}', [set(['a', 0], '2')]],
    ['the end of what is no array', '{"a":{}}', [append(['a'], '2')]],
    ['the end of an array that is not there', '{}', [append(['a'], '2')]],
    ['a member that is taken out and changed', '{"a":1}', [remove(['a']), set(['a'], '2')]],
    ['a member to take out that is not there', '{}', [remove(['a'])]],
    ['an edit of the whole body', '{}', [set([], '{}')]],
  ] as const)('of %s is a bug and throws TypeError', (_, before, edits) => {
    expect(() => edited(before, ...edits)).toThrow(TypeError)
  })
})

/** An edit that puts something in. */
type Put = Exclude<JsonEdit, { readonly kind: 'remove' }>

/** Every place in a text: the values there are, and the containers. */
function placesIn(node: JsonText, path: JsonPath = []): readonly Place[] {
  const below =
    node.kind === 'array'
      ? node.items.flatMap((item, i) => placesIn(item.node, [...path, i]))
      : node.kind === 'object'
        ? node.items.flatMap((item) => placesIn(item.node, [...path, item.name]))
        : []
  return [{ path, node }, ...below]
}

interface Place {
  readonly path: JsonPath
  readonly node: JsonText
}

interface Wish {
  /** Which place, counted round. */
  readonly place: number
  readonly newMember: boolean
  readonly name: string
  readonly json: string
}

/** The edit that a wish becomes at its place; null: it becomes none. */
function editFor({ newMember, name, json }: Wish, { path, node }: Place): Put | null {
  if (newMember && node.kind === 'array' && path.length > 0) return { kind: 'append', path, json }
  if (newMember && node.kind === 'object' && node.items.every((item) => item.name !== name)) {
    return { kind: 'set', path: [...path, name], json }
  }
  return path.length > 0 ? { kind: 'set', path, json } : null
}

function startsWith(path: JsonPath, start: JsonPath): boolean {
  return start.every((segment, i) => path[i] === segment)
}

function overlap(a: Put, b: Put): boolean {
  if (a.kind === 'append' && b.kind === 'append') return false
  if (a.kind === 'append') return startsWith(a.path, b.path)
  if (b.kind === 'append') return startsWith(b.path, a.path)
  return startsWith(a.path, b.path) || startsWith(b.path, a.path)
}

/** The text with one edit made in the model, where every node knows its own source. */
function withEdit(node: JsonText, { edit, depth }: { edit: Put; depth: number }): JsonText {
  const segment = edit.path[depth]
  if (segment === undefined) {
    if (edit.kind === 'set') return { kind: 'raw', source: edit.json }
    return node.kind === 'array' ? { ...node, added: [...node.added, edit.json] } : node
  }
  if (node.kind === 'array') {
    const items = node.items.map((item, i) =>
      i === segment ? { ...item, node: withEdit(item.node, { edit, depth: depth + 1 }) } : item,
    )
    return { ...node, items }
  }
  if (node.kind !== 'object') return node
  if (node.items.every(({ name }) => name !== segment)) {
    return { ...node, added: [...node.added, { name: String(segment), source: edit.json }] }
  }
  const items = node.items.map((item) =>
    item.name === segment
      ? { ...item, node: withEdit(item.node, { edit, depth: depth + 1 }) }
      : item,
  )
  return { ...node, items }
}

const wishes = fc.array(
  fc.record({ place: fc.nat(), newMember: fc.boolean(), name: memberNames, json: jsonSources }),
  { maxLength: 6 },
)

test('random edits of random bodies change the bytes that they must and no others', () => {
  let editsMade = 0
  fc.assert(
    fc.property(jsonObjectTexts, wishes, (text, wishes) => {
      const places = placesIn(text)
      const edits: Put[] = []
      for (const wish of wishes) {
        const place = places[wish.place % places.length]
        const edit = place === undefined ? null : editFor(wish, place)
        if (edit !== null && !edits.some((other) => overlap(edit, other))) edits.push(edit)
      }
      editsMade += edits.length
      const before = printJson(text)
      const expected = edits.reduce<JsonText>(
        (node, edit) => withEdit(node, { edit, depth: 0 }),
        text,
      )
      const after = edited(before, ...edits)
      expect(after).toBe(printJson(expected))
      // As text: toEqual finds differences in deep structures that have none.
      expect(JSON.stringify(meaningOfValue(JSON.parse(after)))).toBe(
        JSON.stringify(meaningOf(expected)),
      )
    }),
    { numRuns: 2_000 },
  )
  expect(editsMade).toBeGreaterThan(2_000)
})

test('removing random members leaves the others and the additions unchanged', () => {
  const places = fc.array(fc.nat(), { maxLength: 4 })
  fc.assert(
    fc.property(jsonObjectTexts, places, fc.boolean(), (text, places, isAdded) => {
      fc.pre(text.kind === 'object')
      const names = [...new Set(text.items.map(({ name }) => name))]
      fc.pre(names.length === text.items.length && !names.includes('added'))
      const removed = new Set(places.map((place) => names[place % names.length] ?? ''))
      const edits = names.filter((name) => removed.has(name)).map((name) => remove([name]))
      if (isAdded) edits.push(set(['added'], '1'))
      const items = text.items.filter(({ name }) => !removed.has(name))
      const added = isAdded ? [{ name: 'added', source: '1' }] : []
      const after = edited(printJson(text), ...edits)
      expect(JSON.stringify(meaningOfValue(JSON.parse(after)))).toBe(
        JSON.stringify(meaningOf({ ...text, items, added })),
      )
    }),
    { numRuns: 2_000 },
  )
})
