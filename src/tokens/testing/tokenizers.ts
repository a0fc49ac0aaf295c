import * as cl100k from 'gpt-tokenizer/encoding/cl100k_base'
import * as o200k from 'gpt-tokenizer/encoding/o200k_base'
import llama2 from 'llama-tokenizer-js'
import llama3 from 'llama3-tokenizer-js'

/** A real tokenizer: how many tokens it makes of a text. */
export interface Tokenizer {
  readonly name: string
  countTokens(text: string): number
}

// Text that looks like a special token is text: clients can't send the real ones.
const asText = { disallowedSpecial: new Set<string>() }

/**
 * Tokenizers of unlike families: byte-pair ones of two vocabulary sizes, one that splits numbers and
 * words otherwise, and one of 32,000 pieces that falls back to single bytes.
 */
export const TOKENIZERS: readonly Tokenizer[] = [
  { name: 'o200k', countTokens: (text) => o200k.encode(text, asText).length },
  { name: 'cl100k', countTokens: (text) => cl100k.encode(text, asText).length },
  { name: 'llama3', countTokens: (text) => llama3.encode(text, { bos: false, eos: false }).length },
  { name: 'llama2', countTokens: (text) => llama2.encode(text, false, false).length },
]
