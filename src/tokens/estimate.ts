import { COMMON_WORDS } from './common-words.ts'

/**
 * The most tokens that a text may have, without knowing the model's tokenizer.
 *
 * The estimate uses properties that all byte-pair tokenizers share, so that none of them exceeds it:
 * - Every byte is a token at the worst.
 * - Two neighbouring tokens never make a pair that the tokenizer would have merged. Where every two
 *   neighbouring letters are such a pair, single letters can't be neighbours, and at the worst
 *   one letter and two letters alternate: two tokens for three letters.
 * - A common English word after a space is one token.
 * - The letters of the larger alphabets are one token each, of two bytes.
 */

const THIRDS_PER_TOKEN = 3

/** By letter, the letters that every known tokenizer merges with it when they follow. */
const MERGED_FOLLOWERS: Readonly<Record<string, string>> = {
  a: 'abcdefghijklmnoprstuvwxyz',
  b: 'abcdefgilmnoprstuy',
  c: 'abcdefhiklmnoprstuvxyz',
  d: 'abcdefhiklmnoprstuwxyz',
  e: 'abcdefghijklmnpqrstuvwxyz',
  f: 'abcdefgilmnoprstuwx',
  g: 'abceghilnorstuyz',
  h: 'adehilmnoprstuwy',
  i: 'abcdefghijklmnoprstuvwxyz',
  j: 'adeikosu',
  k: 'abceghiklmnorstuvwy',
  l: 'abdegijlmnoprstuvy',
  m: 'abcdeiklmnopqstuvxy',
  n: 'abcdegilmnoprstuxy',
  o: 'abcdefghijklmnoprstuvwxyz',
  p: 'abcdefghiklmnoprstuxy',
  q: 'alqtu',
  r: 'abcdefghilmnoprstuvwxyz',
  s: 'abcdefghiklmnopqrstuvwz',
  t: 'abcdefhiklmnoprstuvwxyz',
  u: 'abcdefghijklmnoprstvwxyz',
  v: 'abcdeilmorsty',
  w: 'adehinoprstwxy',
  x: 'acefilpstxy',
  y: 'acdegklmnoprsty',
  z: 'adehikmnostuwyz',
}

/** Characters of two bytes that every known tokenizer has as one token. */
const WHOLE_LETTERS =
  '¡¢£¦§©ª«­®°±²³´µ¶·¹º»¿ÁÂÃÇÉÍÓ×Üßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýāăąćčđęěğīıłńōőœřśşšţūůźżžưșț' +
  'αβγεθικλμνοπρστφωАБВГДЕЗИКЛМНОПРСТУФЧЯабвгдежзийклмнопрстуфхцчшщъыьэюяёі' +
  'אבדהוילמנערשתابةتجحخدرزسشصطعفقكلمنهوىيکی'

/**
 * Characters that Unicode's canonical composition writes as more bytes, as first and last of each
 * run: some tokenizers compose before they split. None becomes more than three times its bytes.
 */
const GROWING_RUNS =
  '344-344 958-95f 9dc-9dd 9df-9df a33-a33 a36-a36 a59-a5b a5e-a5e b5c-b5d f43-f43 f4d-f4d f52-f52 ' +
  'f57-f57 f5c-f5c f69-f69 f73-f73 f75-f76 f78-f78 f81-f81 f93-f93 f9d-f9d fa2-fa2 fa7-fa7 fac-fac ' +
  'fb9-fb9 2adc-2adc fa6c-fa6c facf-fad1 fad5-fad7 fb1d-fb1d fb1f-fb1f fb2a-fb36 fb38-fb3c fb3e-fb3e ' +
  'fb40-fb41 fb43-fb44 fb46-fb4e 1d15e-1d164 1d1bb-1d1c0'
const GROWTH_MAX = 3

/** A combining mark, which may split a composed letter in addition to its own tokens. */
const COMBINING_TOKENS = 4

const SPACE = 0x20
const ASCII_END = 0x80
const WORD_LETTERS_MAX = 10
const WORD_SLOTS = 8192

const asciiThirds = asciiThirdsTable()
const twoByteTokens = twoByteTokensTable()
const growing = growingCharacters()
const growingPages = pagesOf(growing)
const commonWords = commonWordsTable()

/**
 * The most tokens that a UTF-8 text has: a whole number, never below what a tokenizer makes of
 * it. It counts escapes and structure of a JSON body as text, which only adds. Bytes that
 * are no UTF-8 are taken as they come, for a figure that bounds nothing. The text is read in parts: 30 MB at once hold the
 * thread for a tenth of a second.
 */
export class TextEstimate {
  readonly #bytes: Uint8Array
  #at = 0
  /** The byte before, where it may make one token with the next; else zero. */
  #previous = 0
  #thirds = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isWhole(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** The tokens of the bytes read so far. */
  get tokens(): number {
    return Math.ceil(this.#thirds / THIRDS_PER_TOKEN)
  }

  /** Reads so many bytes more, a character or a word beyond them where they end in one, and returns how many. */
  readOn(bytesMax: number): number {
    const bytes = this.#bytes
    const start = this.#at
    const end = Math.min(start + bytesMax, bytes.length)
    let thirds = this.#thirds
    let previous = this.#previous
    let at = start
    while (at < end) {
      let byte = bytes[at] ?? 0
      // The loop that nearly every byte of nearly every body goes through.
      while (byte < ASCII_END && byte !== SPACE) {
        thirds += asciiThirds[(previous << 7) | byte] ?? 0
        previous = byte
        at++
        if (at === end) break
        byte = bytes[at] ?? 0
      }
      if (at === end) break
      previous = 0
      if (byte >= ASCII_END) {
        thirds += THIRDS_PER_TOKEN * characterTokens(bytes, at)
        at += characterLength(byte)
        continue
      }
      const wordEnd = commonWordEnd(bytes, at + 1)
      if (wordEnd > at) {
        thirds += THIRDS_PER_TOKEN
        at = wordEnd
      } else {
        const runEnd = spacesEnd(bytes, at)
        thirds += THIRDS_PER_TOKEN * spaceTokens(runEnd - at)
        at = runEnd
        previous = SPACE
      }
    }
    this.#at = at
    this.#previous = previous
    this.#thirds = thirds
    return at - start
  }
}

/** The end of the common word that starts here; 0 if none does. */
function commonWordEnd(bytes: Uint8Array, start: number): number {
  const endMax = Math.min(start + WORD_LETTERS_MAX + 1, bytes.length)
  let wordKey = 0
  let hash = 0
  let at = start
  for (; at < endMax; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x61 || byte > 0x7a) break
    const letter = byte & 31
    wordKey = wordKey * 32 + letter
    hash = (hash * 31 + letter) & (WORD_SLOTS - 1)
  }
  const length = at - start
  if (length === 0 || length > WORD_LETTERS_MAX || continuesWord(bytes[at] ?? 0)) return 0
  return commonWords[wordSlot(commonWords, { wordKey, hash })] === wordKey ? at : 0
}

/** Whether a byte after lower-case letters may belong to one token with them. */
function continuesWord(byte: number): boolean {
  return byte >= ASCII_END || isLetter(byte) || (byte >= 0x30 && byte <= 0x39) || byte === 0x5f
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

function spacesEnd(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at] === SPACE) at++
  return at
}

/**
 * The known vocabulary with the shortest runs of spaces has sixteen in one token. Not every vocabulary is known, so twelve
 * count as one token, and the two at the ends of a run as one each: the last may belong to the word that follows.
 */
function spaceTokens(spaces: number): number {
  return spaces <= 2 ? spaces : 2 + Math.ceil((spaces - 2) / 12)
}

function characterLength(lead: number): number {
  if (lead < 0xc0) return 1
  if (lead < 0xe0) return 2
  return lead < 0xf0 ? 3 : 4
}

function characterTokens(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0
  const length = characterLength(lead)
  if (length === 1) return 1
  let point = lead & (0xff >> (length + 1))
  for (let i = 1; i < length; i++) point = (point << 6) | ((bytes[at + i] ?? 0) & 0x3f)
  if (length === 2) return twoByteTokens[point] ?? 0
  const grows = growingPages[point >> 6] === 1 && growing.has(point)
  return grows ? GROWTH_MAX * length : length
}

/** The thirds of a token that a byte adds after another: `[previous << 7 | byte]`. */
function asciiThirdsTable(): Uint8Array {
  const table = new Uint8Array(ASCII_END * ASCII_END).fill(THIRDS_PER_TOKEN)
  const discount = (first: number, second: string): void => {
    table[(first << 7) | second.charCodeAt(0)] = 2
  }
  for (const [letter, followers] of Object.entries(MERGED_FOLLOWERS)) {
    for (const follower of followers) discount(letter.charCodeAt(0), follower)
    discount(SPACE, letter)
    discount(SPACE, letter.toUpperCase())
  }
  return table
}

function twoByteTokensTable(): Uint8Array {
  const table = new Uint8Array(0x800).fill(2)
  for (const letter of WHOLE_LETTERS) table[letter.charCodeAt(0)] = 1
  table.fill(COMBINING_TOKENS, 0x300, 0x370)
  for (const point of growingCharacters()) if (point < table.length) table[point] = GROWTH_MAX * 2
  return table
}

function growingCharacters(): ReadonlySet<number> {
  const points = new Set<number>()
  for (const run of GROWING_RUNS.split(' ')) {
    const [first = 0, last = 0] = run.split('-').map((hex) => Number.parseInt(hex, 16))
    for (let point = first; point <= last; point++) points.add(point)
  }
  return points
}

/** Marks the groups of 64 characters with a growing one: most text never asks further. */
function pagesOf(points: ReadonlySet<number>): Uint8Array {
  const pages = new Uint8Array(0x110000 >> 6)
  for (const point of points) pages[point >> 6] = 1
  return pages
}

interface WordPlace {
  /** The letters as digits to the base of 32: ten of them are exact in a number. */
  readonly wordKey: number
  readonly hash: number
}

/** Common words by hash. Keys are compared whole, so that no other word can pass for one. */
function commonWordsTable(): Float64Array {
  const table = new Float64Array(WORD_SLOTS)
  for (const word of COMMON_WORDS) {
    let wordKey = 0
    let hash = 0
    for (const letter of word) {
      wordKey = wordKey * 32 + (letter.charCodeAt(0) & 31)
      hash = (hash * 31 + (letter.charCodeAt(0) & 31)) & (WORD_SLOTS - 1)
    }
    table[wordSlot(table, { wordKey, hash })] = wordKey
  }
  return table
}

/** The slot of the word in the table, or the free slot for it. */
function wordSlot(table: Float64Array, { wordKey, hash }: WordPlace): number {
  let slot = hash
  while (table[slot] !== 0 && table[slot] !== wordKey) slot = (slot + 1) & (WORD_SLOTS - 1)
  return slot
}
