import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { guessText, SIXTIETHS } from '../tokens/guess.ts'

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
const TEXTS = new Set([
  'content',
  'text',
  'thinking',
  'reasoning',
  'reasoning_content',
  'refusal',
  'arguments',
  'output',
  'input',
  'system',
  'instructions',
  'prompt',
  'title',
  'context',
])

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
    const conversation = isArray(messages) ? messages : input
    if (isArray(conversation)) this.#sixtieths += MESSAGE * conversation.length
    if ((system ?? instructions ?? null) !== null) this.#sixtieths += MESSAGE
    for (const list of [prompt, input]) if (isArray(list)) this.#addList(list)
    for (const definitions of [tools, functions]) {
      if (isArray(definitions)) this.#addValue(definitions)
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
          if (isArray(next)) for (const element of next) below.push(element)
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
      else if (isArray(element)) this.#sixtieths += SIXTIETHS * element.length
    }
  }
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
