import type { JsonObject, JsonValue } from './json-value.ts'
import { isJsonObject } from './json-value.ts'

/**
 * Calls back for every object below `root` and for `root` itself, in document order, but for the
 * contents of JSON Schemas: exactly the objects in which a body may not give a member twice.
 *
 * `path()` makes the object's place as text (`messages[0].content[1]`, empty for the root). It costs
 * nothing until called, and may be called only before `visit` returns. Iterative: any depth will do.
 */
export function walkJson(
  root: JsonObject,
  visit: (node: JsonObject, path: () => string) => void,
): void {
  const walk = new Walk(root)
  const path = () => walk.path()
  visit(root, path)
  for (let node = walk.next(); node !== null; node = walk.next()) visit(node, path)
}

/** The containers from the root down to where a walk stands, and how far it is in each of them. */
class Walk {
  readonly #containers: (JsonObject | readonly JsonValue[])[]
  /** Of an object its keys, of an array null. */
  readonly #keys: (readonly string[] | null)[]
  readonly #nexts: number[] = [0]

  constructor(root: JsonObject) {
    this.#containers = [root]
    this.#keys = [Object.keys(root)]
  }

  /** The next object in document order; null at the end. */
  next(): JsonObject | null {
    for (;;) {
      const top = this.#containers.length - 1
      const container = this.#containers[top]
      if (container === undefined) return null
      const child = this.#nextContainer(container, top)
      if (child === null) {
        this.#containers.pop()
        this.#keys.pop()
        this.#nexts.pop()
        continue
      }
      this.#containers.push(child)
      this.#nexts.push(0)
      if (isJsonObject(child)) {
        this.#keys.push(Object.keys(child))
        return child
      }
      this.#keys.push(null)
    }
  }

  #nextContainer(
    container: JsonObject | readonly JsonValue[],
    top: number,
  ): JsonObject | readonly JsonValue[] | null {
    let next = this.#nexts[top] ?? 0
    if (isArray(container)) {
      while (next < container.length) {
        const value = container[next++]
        if (typeof value === 'object' && value !== null) {
          this.#nexts[top] = next
          return value
        }
      }
      return null
    }
    const keys = this.#keys[top] ?? []
    while (next < keys.length) {
      const key = keys[next++] ?? ''
      const value = container[key]
      if (typeof value !== 'object' || value === null) continue
      if (holdsSchema(container, { key, parentKey: this.#parentKey(top) })) continue
      this.#nexts[top] = next
      return value
    }
    return null
  }

  /** The key that the object at this depth is the value of; null for an element or the root. */
  #parentKey(depth: number): string | null {
    const keys = this.#keys[depth - 1]
    return keys?.[(this.#nexts[depth - 1] ?? 0) - 1] ?? null
  }

  path(): string {
    const segments: (string | number)[] = []
    for (let depth = 0; depth < this.#containers.length - 1; depth++) {
      const at = (this.#nexts[depth] ?? 0) - 1
      segments.push(this.#keys[depth]?.[at] ?? at)
      if (segments.length > PATH_SEGMENTS_MAX) break
    }
    return jsonPathText(segments)
  }
}

function isArray(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/**
 * Whether the member `key` of `owner` is a JSON Schema, whose contents are the client's own affair:
 * `input_schema`; `schema` of a `json_schema`; `parameters` of a function (typed `function`, or untyped
 * with a name beside it), but not of a provider-run tool. `parentKey`: the key that `owner` stands under.
 */
export function holdsSchema(
  owner: JsonObject,
  { key, parentKey }: { readonly key: string; readonly parentKey: string | null },
): boolean {
  switch (key) {
    case 'input_schema':
      return true
    case 'schema':
      return parentKey === 'json_schema' || owner['type'] === 'json_schema'
    case 'parameters':
      return (
        owner['type'] === 'function' || (owner['type'] === undefined && owner['name'] !== undefined)
      )
    default:
      return false
  }
}

const PATH_SEGMENTS_MAX = 24
const PLAIN_KEY = /^[A-Za-z_$][\w$-]{0,63}$/

/**
 * A place in a body as text: `messages[0].content[1]`. Keys that are no plain names, and what lies
 * deeper than any field we know, stand as `…`: an error must not give the body's content back.
 */
export function jsonPathText(segments: readonly (string | number)[]): string {
  let text = ''
  for (const segment of segments.slice(0, PATH_SEGMENTS_MAX)) {
    if (typeof segment === 'number') text += `[${segment}]`
    else text += `${text === '' ? '' : '.'}${PLAIN_KEY.test(segment) ? segment : '…'}`
  }
  return segments.length > PATH_SEGMENTS_MAX ? `${text}…` : text
}
