/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonObject | readonly JsonValue[]

/**
 * A JSON object as `JSON.parse` makes it. Read members whose name a client chose with `Object.hasOwn`:
 * an absent `constructor` would otherwise be found on the prototype.
 */
export interface JsonObject {
  readonly [member: string]: JsonValue
}

/** A JSON object and the bytes that it was read from. Made only by parsing. */
export interface JsonBody {
  readonly bytes: Buffer
  readonly root: JsonObject
}

/** Whether a value is an object: neither an array nor null. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return isRecord(value)
}

/** Whether a value is an array. */
export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** A JSON object's members; null for any other value. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null
}

/** Whether a value is an object: neither an array nor null. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An array of strings; null for any other value. */
export function readStrings(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((element) => typeof element === 'string')
    ? value
    : null
}

/** Whether a value is a whole number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

// A hundred times the longest window. Sums of a count that is none would not be exact.
const COUNT_MAX = 1_000_000_000

/** A whole number that a call can count, of tokens or searches; null for any other value. */
export function tokenCount(value: JsonValue | undefined): number | null {
  return isTokenCount(value) && value <= COUNT_MAX ? value : null
}

/** A member that is an object; an empty object for any other value. */
export function objectAt(owner: JsonObject, name: string): JsonObject {
  const value = owner[name]
  return isJsonObject(value) ? value : {}
}

/**
 * Calls back for every object below `root` and for `root` itself, in document order, but for what the
 * client's own tools define ({@link isOfClientTools}): exactly the objects in which a body may not give
 * a member twice.
 *
 * `path()` makes the object's place as text (`messages[0].content[1]`, empty for the root). It costs
 * nothing until called, and may be called only before `visit` returns. Iterative: any depth will do.
 */
export function walkJson(
  root: JsonObject,
  visit: (node: JsonObject, path: () => string) => void,
): void {
  const walk = new Walk()
  const path = () => walk.path()
  for (let node: JsonObject | null = root; node !== null; node = walk.next(node)) visit(node, path)
}

/** An object or array that has containers within, and how far the walk is in it. */
interface Frame {
  readonly container: JsonObject | readonly JsonValue[]
  /** The keys of an object; null of an array. */
  readonly keys: readonly string[] | null
  /** The index, in keys or elements, after the one that the walk is in. */
  next: number
}

/** The containers around the object that is being visited, outermost first. */
class Walk {
  readonly #frames: Frame[] = []

  /** The object after `visited` in document order; null at the end. */
  next(visited: JsonObject): JsonObject | null {
    this.#enter(visited)
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      const child = this.#nextContainer(frame)
      if (child === null) this.#frames.pop()
      else if (isJsonObject(child)) return child
      else this.#enter(child)
    }
    return null
  }

  #enter(container: JsonObject | readonly JsonValue[]): void {
    // Most objects are leaves: they need no frame and no list of keys.
    if (isJsonArray(container)) {
      if (container.length > 0) this.#frames.push({ container, keys: null, next: 0 })
    } else if (hasContainers(container)) {
      this.#frames.push({ container, keys: Object.keys(container), next: 0 })
    }
  }

  #nextContainer(frame: Frame): JsonObject | readonly JsonValue[] | null {
    const { container, keys } = frame
    if (isJsonArray(container)) {
      while (frame.next < container.length) {
        const value = container[frame.next++]
        if (typeof value === 'object' && value !== null) return value
      }
      return null
    }
    while (keys !== null && frame.next < keys.length) {
      const key = keys[frame.next++] ?? ''
      const value = container[key]
      if (typeof value !== 'object' || value === null) continue
      const isRoot = this.#frames.length === 1
      if (!isOfClientTools(container, { key, parentKey: this.#parentKey(), isRoot })) return value
    }
    return null
  }

  /** The key that the innermost container is the value of; null for an element or the root. */
  #parentKey(): string | null {
    const parent = this.#frames.at(-2)
    return parent?.keys?.[parent.next - 1] ?? null
  }

  path(): string {
    const around = this.#frames.slice(0, PATH_SEGMENTS_MAX + 1)
    return jsonPathText(around.map(({ keys, next }) => keys?.[next - 1] ?? next - 1))
  }
}

function hasContainers(node: JsonObject): boolean {
  for (const key in node) if (typeof node[key] === 'object' && node[key] !== null) return true
  return false
}

/**
 * Whether the contents of the member `key` of `owner` are defined by the client's own tools, so that
 * the gateway does not interpret them. They are a JSON Schema (`input_schema`; `schema` of a `json_schema`;
 * `parameters` of a function, typed `function` or untyped with a name next to it, but not of a
 * provider-run tool) or the `input` of a tool's call, which follows a schema. The root is never a tool's
 * call, with any other members: its `input` is the body's own.
 */
export function isOfClientTools(
  owner: JsonObject,
  { key, parentKey, isRoot }: MemberPlace,
): boolean {
  switch (key) {
    case 'input_schema':
      return true
    case 'input':
      return (
        !isRoot &&
        (owner['type'] === 'tool_use' ||
          owner['type'] === 'server_tool_use' ||
          owner['type'] === 'mcp_tool_use')
      )
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

/** The place of a member. */
interface MemberPlace {
  readonly key: string
  /** The key that the member's object is the value of; null for an element and the root. */
  readonly parentKey: string | null
  /** Whether the member's object is the root. */
  readonly isRoot: boolean
}

const PATH_SEGMENTS_MAX = 24
const PLAIN_KEY = /^[A-Za-z_$][\w$-]{0,63}$/

/**
 * A place in a body as text: `messages[0].content[1]`. Unusual keys, and places deeper than any known field,
 * are shown as `…`: an error must not repeat the body's content.
 */
export function jsonPathText(segments: readonly (string | number)[]): string {
  let text = ''
  for (const segment of segments.slice(0, PATH_SEGMENTS_MAX)) {
    if (typeof segment === 'number') text += `[${segment}]`
    else text += `${text === '' ? '' : '.'}${PLAIN_KEY.test(segment) ? segment : '…'}`
  }
  return segments.length > PATH_SEGMENTS_MAX ? `${text}…` : text
}
