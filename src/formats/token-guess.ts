import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { wordsOf } from '../vocabulary/words-of.ts'

/**
 * The unit of a guess: the likely number of tokens of a text that nothing counts, in sixtieths, so that every weight is a
 * whole number. The bound of `tokens/estimate.ts` is separate: it is made to be too high.
 */
export const SIXTIETHS = 60

/** Four characters of ASCII are a token. */
const ASCII = SIXTIETHS / 4
/** A character of two bytes in UTF-8, as Cyrillic: two and a half of them. */
const TWO_BYTES = SIXTIETHS / 2.5
/** A character of three bytes, as Chinese: one and a half of them. */
const THREE_BYTES = SIXTIETHS / 1.5
/** A character of four bytes, as an emoji. */
const FOUR_BYTES = SIXTIETHS

/** The likely tokens of a text, in sixtieths. */
function guessText(text: string): number {
  // Nearly every text is pure ASCII, and is counted without a loop.
  if (Buffer.byteLength(text) === text.length) return ASCII * text.length
  let sixtieths = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) sixtieths += ASCII
    else if (unit < 0x800) sixtieths += TWO_BYTES
    // Each half of a character outside of the basic plane.
    else if (unit >= 0xd800 && unit < 0xe000) sixtieths += FOUR_BYTES / 2
    else sixtieths += THREE_BYTES
  }
  return sixtieths
}

/** Like {@link guessText}, for the bytes of UTF-8. */
export function guessBytes(bytes: Uint8Array): number {
  let sixtieths = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80) sixtieths += ASCII
    // Bytes within a character count with its first.
    else if (byte < 0xc0) continue
    else if (byte < 0xe0) sixtieths += TWO_BYTES
    else sixtieths += byte < 0xf0 ? THREE_BYTES : FOUR_BYTES
  }
  return sixtieths
}

/** The tokens around each message, and around all of them. */
const MESSAGE = 4 * SIXTIETHS
const CONVERSATION = 3 * SIXTIETHS

/** The tokens that separate a member from the others. */
const SEPARATOR = SIXTIETHS / 2

/**
 * The tokens that a line of its own adds to a value, by its type, above the most that its text has as it was sent: the
 * space before a number, the end of the line, and the line that closes a list or an object.
 */
const LAYOUT_TOKENS: Readonly<Record<string, number>> = { number: 2, string: 1, object: 3 }

/** One token has the indentation of so many levels in the vocabulary that joins the fewest spaces: sixteen. */
const DEPTH_PER_INDENT_TOKEN = 4

/** Numbers of the arguments of a call, which templates print with a space before each. */
const SPACED_NUMBERS = /[,:](?=[-\d])/g

/** Members whose text a model reads, in whichever object they are. */
const TEXTS = new Set(
  wordsOf(`
    content text thinking reasoning reasoning_content refusal arguments output input system
    instructions prompt title context
  `),
)

/** The likely tokens of a prompt, in sixtieths: of the texts that a model reads, without the JSON around them. */
export class PromptGuess {
  #sixtieths = CONVERSATION
  #layoutTokens = 0

  get sixtieths(): number {
    return this.#sixtieths
  }

  /**
   * The most tokens that a template adds as it prints the definitions and the input of tools again: with spaces, or each
   * value on a line of its own.
   */
  get layoutTokens(): number {
    return this.#layoutTokens
  }

  /** Adds the parts that only the root of a body has: its messages, tools, and lists of texts. */
  addRoot(root: JsonObject): void {
    const { messages, input, prompt, system, instructions, tools, functions } = root
    const conversation = isJsonArray(messages) ? messages : input
    if (isJsonArray(conversation)) this.#sixtieths += MESSAGE * conversation.length
    if ((system ?? instructions ?? null) !== null) this.#sixtieths += MESSAGE
    for (const list of [prompt, input]) if (isJsonArray(list)) this.#addList(list)
    for (const definitions of [tools, functions]) {
      if (isJsonArray(definitions)) this.#addValue(definitions)
    }
  }

  /** Adds the texts of one object of a body. */
  addNode(node: JsonObject): void {
    for (const name in node) {
      const value = node[name]
      if (typeof value === 'string') {
        if (TEXTS.has(name)) this.#sixtieths += guessText(value)
        if (name === 'arguments') this.#layoutTokens += value.match(SPACED_NUMBERS)?.length ?? 0
      } else if (name === 'input' && node['type'] !== undefined && isJsonObject(value)) {
        // The input of a call of a tool.
        this.#addValue(value)
      }
    }
  }

  /** All names and values of a definition, at any depth. */
  #addValue(value: JsonValue): void {
    let level = [value]
    for (let depth = 0; level.length > 0; depth++) {
      const below: JsonValue[] = []
      let lines = level.length
      for (const next of level) {
        this.#layoutTokens += LAYOUT_TOKENS[typeof next] ?? 0
        if (typeof next === 'string') this.#sixtieths += guessText(next)
        else if (typeof next !== 'object' || next === null) this.#sixtieths += SIXTIETHS
        else {
          lines += 1
          if (isJsonArray(next)) for (const element of next) below.push(element)
          else this.#addMembers(next, below)
        }
      }
      this.#layoutTokens += lines * Math.floor(depth / DEPTH_PER_INDENT_TOKEN)
      level = below
    }
  }

  /** Adds the names, and lists the values. */
  #addMembers(owner: JsonObject, below: JsonValue[]): void {
    for (const name in owner) {
      this.#sixtieths += SEPARATOR + guessText(name)
      const member = owner[name]
      if (member !== undefined) below.push(member)
    }
  }

  /** Texts, and arrays of the ids of tokens. */
  #addList(list: readonly JsonValue[]): void {
    for (const element of list) {
      if (typeof element === 'string') this.#sixtieths += guessText(element)
      else if (typeof element === 'number') this.#sixtieths += SIXTIETHS
      else if (isJsonArray(element)) this.#sixtieths += SIXTIETHS * element.length
    }
  }
}
