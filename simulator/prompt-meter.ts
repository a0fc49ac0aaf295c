import { createHash } from 'node:crypto'
import { arrayOr, isObject, type JsonValue, objectOr, stringOr } from './json-value.ts'

/** The prompt side of a bill. */
export interface PromptCount {
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly cacheWriteLongTokens: number
  readonly inputImages: number
  readonly files: number
  /** Files, videos, and images by URL, whose size the request does not show. */
  readonly unsizedMedia: number
  /** The longest lifetime of the cache marks, whether it was written or read; null: nothing is marked. */
  readonly cacheMark: 'short' | 'long' | null
}

const CHARS_PER_TOKEN = 4
const MESSAGE_TOKENS = 3
export const IMAGE_TOKENS = 765
export const FILE_TOKENS = 1500
const NESTED_MAX = 4
const PREFIXES_MAX = 10_000

/** The beginnings of prompts that have been written to the cache. */
export class PrefixMemory {
  readonly #seen = new Set<string>()

  /** The place of the longest of these prefixes, the shortest first, that was written before; -1: none was. */
  longestKnown(digests: readonly string[]): number {
    return digests.findLastIndex((digest) => this.#seen.has(digest))
  }

  write(digest: string): void {
    if (this.#seen.size >= PREFIXES_MAX) this.#seen.clear()
    this.#seen.add(digest)
  }

  clear(): void {
    this.#seen.clear()
  }
}

/** A mark in a prompt: everything up to it should be cached. */
interface Mark {
  /** The number of texts before it. */
  readonly texts: number
  readonly tokens: number
  /** Whether for an hour. */
  readonly isLong: boolean
}

/** Counts a prompt's tokens as it is walked: about one for four characters, as tokenizers do. */
export class PromptMeter {
  #chars = 0
  #tokens = 0
  #images = 0
  #files = 0
  #unsizedMedia = 0
  readonly #texts: { readonly text: string; readonly tokensTo: number }[] = []
  readonly #marks: Mark[] = []

  text(text: string): void {
    this.#chars += text.length
    this.#texts.push({ text, tokensTo: this.#total() })
  }

  /** The few tokens that surround a message. */
  message(): void {
    this.#tokens += MESSAGE_TOKENS
  }

  /** Tokens given as numbers rather than text. */
  tokens(count: number): void {
    this.#tokens += count
  }

  /** The text of a JSON value, for tools and tool input. */
  json(value: JsonValue | undefined): void {
    if (value !== undefined) this.text(JSON.stringify(value))
  }

  /** The content of a message or item, with any parts, and the cache marks on them. */
  content(content: JsonValue | undefined, depth = 0): void {
    if (typeof content === 'string') {
      this.text(content)
      return
    }
    if (depth > NESTED_MAX) return
    for (const part of arrayOr(content)) {
      if (typeof part === 'string') this.text(part)
      else if (isObject(part)) {
        this.#part(stringOr(part['type']), part, depth)
        this.cacheMark(part['cache_control'])
      }
    }
  }

  #part(type: string, part: Readonly<Record<string, JsonValue | undefined>>, depth: number): void {
    if (type.includes('image')) {
      this.#images += 1
      this.#tokens += IMAGE_TOKENS
      if (!isInline(part)) this.#unsizedMedia += 1
    } else if (type.includes('video')) {
      this.#tokens += IMAGE_TOKENS
      this.#unsizedMedia += 1
    } else if (type === 'file' || type === 'input_file' || type === 'document') {
      this.#unsizedMedia += 1
      this.#files += 1
      this.#tokens += FILE_TOKENS
    } else if (type === 'tool_use') this.json(part['input'])
    else if (part['content'] !== undefined) this.content(part['content'], depth + 1)
    else this.text(stringOr(part['text']) || stringOr(part['thinking']))
  }

  /** Notes that everything up to here must be cached, if the value says so. */
  cacheMark(control: JsonValue | undefined): void {
    if (!isObject(control)) return
    const isLong = control['ttl'] === '1h'
    this.#marks.push({ texts: this.#texts.length, tokens: this.#total(), isLong })
  }

  #total(): number {
    return this.#tokens + Math.ceil(this.#chars / CHARS_PER_TOKEN)
  }

  /** All that has been counted. */
  tokenCount(): number {
    return this.#total()
  }

  /**
   * The counts. The longest beginning that was marked before is read from the cache. The rest is
   * written up to the last mark: for an hour as far as a mark of an hour covers it, else for five minutes.
   */
  count(prefixes: PrefixMemory): PromptCount {
    const total = Math.max(1, this.#total())
    const base = {
      inputImages: this.#images,
      files: this.#files,
      unsizedMedia: this.#unsizedMedia,
    }
    const last = this.#marks.at(-1)
    if (last === undefined) {
      return { ...base, cacheMark: null, inputTokens: total, ...NOT_CACHED }
    }
    const read = this.#readTokens(last, prefixes)
    const longTokens = this.#marks.findLast(({ isLong }) => isLong)?.tokens ?? 0
    const writtenLong = Math.max(0, longTokens - read)
    return {
      ...base,
      cacheMark: longTokens > 0 ? 'long' : 'short',
      inputTokens: total - last.tokens,
      cacheReadTokens: read,
      cacheWriteTokens: last.tokens - read - writtenLong,
      cacheWriteLongTokens: writtenLong,
    }
  }

  /** The tokens before the last mark that are in the cache by now; all of them are after this. */
  #readTokens(last: Mark, prefixes: PrefixMemory): number {
    const whole = createHash('sha256')
    const marked = this.#texts.slice(0, last.texts)
    const digests = marked.map(({ text }) =>
      whole.update(text).update('\0').copy().digest('base64'),
    )
    const known = prefixes.longestKnown(digests)
    for (const { texts } of this.#marks) {
      const digest = digests[texts - 1]
      if (digest !== undefined) prefixes.write(digest)
    }
    return known === marked.length - 1 ? last.tokens : (marked[known]?.tokensTo ?? 0)
  }
}

/** Whether an image's bytes are in the request: as a data URL, or as base64 with their type. */
function isInline(part: Readonly<Record<string, JsonValue | undefined>>): boolean {
  const image = part['image_url']
  const address = isObject(image) ? image['url'] : image
  return stringOr(address).startsWith('data:') || objectOr(part['source'])['type'] === 'base64'
}

const NOT_CACHED = { cacheReadTokens: 0, cacheWriteTokens: 0, cacheWriteLongTokens: 0 }
