/** Whether a value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a dotted path (`data.0.key`; `data.*.key` for all of a list); the value itself at ''; undefined where there is none. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value
  const [name = '', ...rest] = path.split('.')
  if (Array.isArray(value))
    return name === '*'
      ? value.map((item) => valueAt(item, rest.join('.')))
      : valueAt(value[Number(name)], rest.join('.'))
  return isRecord(value) ? valueAt(value[name], rest.join('.')) : undefined
}

/** All texts in a value, in order. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : []
}

/** The bytes of a member of an object, as they stand in its JSON; null where it has none. */
export function rawMember(json: string, name: string): string | null {
  let at = skipSpace(json, 0) + 1
  while (at < json.length) {
    at = skipSpace(json, at)
    const nameEnd = endOfValue(json, at)
    const found = json.slice(at + 1, nameEnd - 1)
    at = skipSpace(json, skipSpace(json, nameEnd) + 1)
    const end = endOfValue(json, at)
    if (found === name) return json.slice(at, end)
    at = skipSpace(json, end) + 1
  }
  return null
}

function skipSpace(json: string, from: number): number {
  let at = from
  while (' \t\r\n'.includes(json[at] ?? 'x')) at++
  return at
}

/** Where the value that starts here ends. */
function endOfValue(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const char = json[at] ?? ''
    if (char === '"') {
      at++
      while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
    } else if ('[{'.includes(char)) depth++
    else if (']}'.includes(char)) depth--
    if (depth === 0 && (at + 1 >= json.length || ',:]} \t\r\n'.includes(json[at + 1] ?? '')))
      return at + 1
  }
  return json.length
}
