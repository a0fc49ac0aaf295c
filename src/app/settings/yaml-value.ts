import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'

/** A YAML file that is being read: all its faults are collected, so that they can be reported together. */
export class YamlFile {
  /** The whole file. */
  readonly root: YamlValue
  readonly #faults: { readonly line: number; readonly message: string }[] = []

  constructor(text: string) {
    const lines = new LineCounter()
    // Every scalar is the text as it was written: a price is never a float, and `on` is not a boolean.
    const document = parseDocument(text, {
      schema: 'failsafe',
      lineCounter: lines,
      prettyErrors: false,
    })
    for (const { code, message, pos } of document.errors) {
      const advice =
        code === 'UNEXPECTED_TOKEN'
          ? '; a name in braces after a dollar sign must be in quotes'
          : ''
      this.#faults.push({ line: lines.linePos(pos[0]).line, message: `${message}${advice}` })
    }
    this.root = new YamlValue({
      node: document.contents,
      path: '',
      line: 1,
      lineOf: (offset) => lines.linePos(offset).line,
      resolve: (node) => (isAlias(node) ? node.resolve(document) : node),
      fault: (line, message) => void this.#faults.push({ line, message }),
    })
  }

  /** All faults so far, in the order of their lines, each as `line 3: what is wrong`. */
  get faults(): readonly string[] {
    return this.#faults
      .toSorted((a, b) => a.line - b.line)
      .map(({ line, message }) => `line ${line}: ${message}`)
  }
}

interface Place {
  readonly node: unknown
  /** `upstreams.local.models[0]`; empty: the whole file. */
  readonly path: string
  readonly line: number
  readonly lineOf: (offset: number) => number
  readonly resolve: (node: unknown) => unknown
  readonly fault: (line: number, message: string) => void
}

/** One value of a YAML file. A reading that fails notes a fault and returns null. */
export class YamlValue {
  readonly #place: Place

  constructor(place: Place) {
    this.#place = place
  }

  get line(): number {
    return this.#place.line
  }

  /** Its path in the file: `upstreams.local.models[0]`. */
  get path(): string {
    return this.#place.path
  }

  /** Notes a fault of this value: the message follows its path. */
  fault(message: string): null {
    const { path, line, fault } = this.#place
    fault(line, `${path === '' ? 'the file' : path} ${message}`)
    return null
  }

  /** Its members by name, in order. `known`: the names that there are; a fault is noted for any other. Default: all. */
  members(known?: readonly string[]): ReadonlyMap<string, YamlValue> | null {
    const node = this.#place.resolve(this.#place.node)
    if (!isMap(node)) return this.fault('must be names and values, like `name: value`')
    const members = new Map<string, YamlValue>()
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      const member = this.#below(value ?? key, `${this.path === '' ? '' : `${this.path}.`}${name}`)
      if (name === '') member.fault('has a name that is not text')
      else if (known !== undefined && !known.includes(name)) {
        member.fault(`is not a setting here: the settings are ${known.join(', ')}`)
      } else members.set(name, member)
    }
    return members
  }

  /** Its elements, in order. */
  items(): readonly YamlValue[] | null {
    const node = this.#place.resolve(this.#place.node)
    if (!isSeq(node)) return this.fault('must be a list, like `[a, b]`')
    return node.items.map((item, index) => this.#below(item, `${this.path}[${index}]`))
  }

  /** Its text, as it is written. */
  text(): string | null {
    const node = this.#place.resolve(this.#place.node)
    if (!isScalar(node)) return this.fault('must be text')
    const text = String(node.value ?? '')
    return text === '' ? this.fault('is empty') : text
  }

  /** One of these texts. */
  oneOf<Text extends string>(texts: readonly Text[]): Text | null {
    const text = this.text()
    if (text === null) return null
    const known = texts.find((each) => each === text)
    return known ?? this.fault(`is ${shown(text)}: it must be one of ${texts.join(', ')}`)
  }

  /** A whole number. */
  wholeNumber({ min, max }: { readonly min: number; readonly max: number }): number | null {
    const text = this.text()
    if (text === null) return null
    if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
    return this.fault(`is ${shown(text)}: it must be a whole number, ${min} to ${max}`)
  }

  #below(node: unknown, path: string): YamlValue {
    const { lineOf, line } = this.#place
    const start = rangeOf(node)
    return new YamlValue({
      ...this.#place,
      node,
      path,
      line: start === null ? line : lineOf(start),
    })
  }
}

const SHOWN_CHARS_MAX = 80

/** A text of the file in a message. */
function shown(text: string): string {
  const start = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
  return JSON.stringify(start)
}

function rangeOf(node: unknown): number | null {
  if (typeof node !== 'object' || node === null || !('range' in node)) return null
  const { range } = node
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : null
}
