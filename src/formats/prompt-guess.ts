import { isJsonObject, type JsonObject, type JsonValue } from '../json/walk.ts'
import { guessText, SIXTIETHS } from '../tokens/guess.ts'

/** The tokens around each message, and around all of them. */
const MESSAGE = 4 * SIXTIETHS
const CONVERSATION = 3 * SIXTIETHS

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

  get sixtieths(): number {
    return this.#sixtieths
  }

  /** Adds what stands at the root of a body alone: its messages, tools, and lists of texts. */
  addRoot(root: JsonObject): void {
    const { messages, input, prompt, system, instructions, tools, functions } = root
    const conversation = isArray(messages) ? messages : input
    if (isArray(conversation)) this.#sixtieths += MESSAGE * conversation.length
    if ((system ?? instructions ?? null) !== null) this.#sixtieths += MESSAGE
    for (const list of [prompt, input]) if (isArray(list)) this.#addList(list)
    for (const definitions of [tools, functions]) {
      if (isArray(definitions)) this.#sixtieths += guessValue(definitions)
    }
  }

  /** Adds the texts of one object of a body. */
  addNode(node: JsonObject): void {
    for (const name in node) {
      const value = node[name]
      if (typeof value === 'string') {
        if (TEXTS.has(name)) this.#sixtieths += guessText(value)
      } else if (name === 'input' && node['type'] !== undefined && isJsonObject(value)) {
        // The input of a call of a tool.
        this.#sixtieths += guessValue(value)
      }
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

/** The tokens that separate a member from the others. */
const SEPARATOR = SIXTIETHS / 2

/** All names and values of a definition, at any depth. */
function guessValue(value: JsonValue): number {
  let sixtieths = 0
  const pending: JsonValue[] = [value]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') sixtieths += guessText(next)
    else if (typeof next !== 'object' || next === null) sixtieths += SIXTIETHS
    else if (isArray(next)) for (const element of next) pending.push(element)
    else {
      for (const name in next) {
        sixtieths += SEPARATOR + guessText(name)
        const member = next[name]
        if (member !== undefined) pending.push(member)
      }
    }
  }
  return sixtieths
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
