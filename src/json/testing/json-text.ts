import fc from 'fast-check'

/** JSON text in any style: every node keeps its own white space, escapes and digits. */
export type JsonText = RawText | ArrayText | ObjectText

/** The source of a scalar, or of what an edit has put in a value's place. */
interface RawText {
  readonly kind: 'raw'
  readonly source: string
}

interface ArrayText {
  readonly kind: 'array'
  /** The text between the brackets of an empty array. */
  readonly space: string
  readonly items: readonly ElementText[]
  /** Elements that edits add at the end. */
  readonly added: readonly string[]
}

interface ObjectText {
  readonly kind: 'object'
  readonly space: string
  readonly items: readonly MemberText[]
  /** Members that edits add at the end. */
  readonly added: readonly { readonly name: string; readonly source: string }[]
}

interface ElementText {
  readonly before: string
  readonly node: JsonText
  readonly after: string
}

interface MemberText extends ElementText {
  readonly name: string
  readonly keySource: string
  /** White space on either side of the colon. */
  readonly aroundColon: readonly [string, string]
}

/** The whole text. What edits added to a container follows its last value. */
export function printJson(node: JsonText): string {
  switch (node.kind) {
    case 'raw':
      return node.source
    case 'array':
      return `[${printItems(node, { added: node.added, head: () => '' })}]`
    case 'object': {
      const added = node.added.map(({ name, source }) => `${JSON.stringify(name)}:${source}`)
      const head = ({ keySource, aroundColon: [left, right] }: MemberText) =>
        `${keySource}${left}:${right}`
      return `{${printItems(node, { added, head })}}`
    }
  }
}

function printItems<Item extends ElementText>(
  { items, space }: { readonly items: readonly Item[]; readonly space: string },
  { added, head }: { readonly added: readonly string[]; readonly head: (item: Item) => string },
): string {
  if (items.length === 0) return `${added.join(',')}${space}`
  return items
    .map((item, i) => {
      const follows = i === items.length - 1 ? added.map((source) => `,${source}`).join('') : ''
      return `${item.before}${head(item)}${printJson(item.node)}${follows}${item.after}`
    })
    .join(',')
}

/** The meaning of the text, in a form that shows `__proto__` like any other member and ignores order. */
export type Meaning =
  | { readonly scalar: unknown }
  | { readonly elements: readonly Meaning[] }
  | { readonly members: readonly (readonly [string, Meaning])[] }

/** The meaning of a text, worked out without `JSON.parse` of anything but its scalars. */
export function meaningOf(node: JsonText): Meaning {
  switch (node.kind) {
    case 'raw':
      return meaningOfValue(JSON.parse(node.source))
    case 'array':
      return {
        elements: [
          ...node.items.map((item) => meaningOf(item.node)),
          ...node.added.map((source) => meaningOfValue(JSON.parse(source))),
        ],
      }
    case 'object':
      return sorted([
        ...node.items.map((item) => [item.name, meaningOf(item.node)] as const),
        ...node.added.map(
          ({ name, source }) => [name, meaningOfValue(JSON.parse(source))] as const,
        ),
      ])
  }
}

/** The meaning of a parsed value. */
export function meaningOfValue(value: unknown): Meaning {
  if (Array.isArray(value)) return { elements: value.map(meaningOfValue) }
  if (typeof value !== 'object' || value === null) return { scalar: value }
  return sorted(
    Object.entries(value).map(
      ([name, member]) => [nameOfTreeKey(name), meaningOfValue(member)] as const,
    ),
  )
}

/** The key that a name in a body's tree stands for. */
function nameOfTreeKey(name: string): string {
  return name.replace(/\ue000([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

function sorted(members: readonly (readonly [string, Meaning])[]): Meaning {
  return { members: members.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)) }
}

const space = fc.constantFrom('', '', ' ', '\n', '\t ', ' \r\n  ')
const numberSource = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1e5', '12345678901234567890', '0.10', '-1.50E-7', '1E+2'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
)
// None has a backslash: `JSON.parse` of this engine takes some keys for one that it has seen before
// (nodejs/node#63785), and then the answers that tests compare with would be wrong.
const words = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'model',
    'type',
    '',
    '__proto__',
    'constructor',
    'length',
    '0',
    '10',
    'é',
    '😀',
    '"',
    '\n',
    '{',
    ']',
    ',',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }).filter((text) => !text.includes('\\')),
)

/** A string's source, each character escaped in one of the ways there are. */
function stringSource(text: string, ways: readonly number[]): string {
  const units = text.split('').map((unit, i) => {
    const way = ways[i % ways.length] ?? 0
    const code = unit.charCodeAt(0)
    // Half of a pair can't stand alone in UTF-8.
    if (way === 0 || (code >= 0xd800 && code <= 0xdfff)) {
      return `\\u${code.toString(16).padStart(4, '0')}`
    }
    if (way === 1) return `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
    return unit === '/' ? '\\/' : JSON.stringify(unit).slice(1, -1)
  })
  return `"${units.join('')}"`
}

const ways = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 5 })
const stringText = fc.tuple(words, ways).map(([text, ways]) => stringSource(text, ways))
const raw = fc
  .oneof(fc.constantFrom('null', 'true', 'false'), numberSource, stringText)
  .map((source): RawText => ({ kind: 'raw', source }))

const { node, object } = fc.letrec<{ node: JsonText; array: ArrayText; object: ObjectText }>(
  (tie) => ({
    node: fc.oneof({ depthSize: 'small', withCrossShrink: true }, raw, tie('array'), tie('object')),
    array: fc.record({
      kind: fc.constant('array' as const),
      space,
      items: fc.array(fc.record({ before: space, node: tie('node'), after: space }), {
        maxLength: 4,
      }),
      added: fc.constant([]),
    }),
    object: fc.record({
      kind: fc.constant('object' as const),
      space,
      items: fc
        .uniqueArray(
          fc.record({
            before: space,
            name: words,
            ways,
            aroundColon: fc.tuple(space, space),
            node: tie('node'),
            after: space,
          }),
          { maxLength: 5, selector: ({ name }) => name },
        )
        .map((members) =>
          members.map(({ ways, ...member }) => ({
            ...member,
            keySource: stringSource(member.name, ways),
          })),
        ),
      added: fc.constant([]),
    }),
  }),
)

/** Random JSON text without duplicate members. */
export const jsonTexts = node

/** Random text of a JSON object. */
export const jsonObjectTexts = object

/** Random source text of a scalar or a small container, to put into a body. */
export const jsonSources = fc.oneof(
  raw.map(({ source }) => source),
  fc.constantFrom('[]', '{}', '[1,"]"]', '{"a":{"b":[2]}}'),
)

/** Member names that bodies may or may not have. */
export const memberNames = words
