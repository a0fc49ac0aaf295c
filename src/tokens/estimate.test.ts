import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { COMMON_WORDS } from './common-words.ts'
import { TextEstimate } from './estimate.ts'
import { estimateTextTokens } from './testing/estimate-text.ts'
import { ENGLISH_PROSE } from './testing/prose.ts'
import { TOKENIZERS, type Tokenizer } from './testing/tokenizers.ts'

const estimate = (text: string) => estimateTextTokens(Buffer.from(text))

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i))
const spaced = COMMON_WORDS.map((word) => ` ${word}`)
const LOWER = range(0x61, 0x7a)
const ASCII = range(0x20, 0x7e)

/** The pieces of texts, by the kind of text: each is a list to draw from. */
const ALPHABETS: Readonly<Record<string, readonly string[]>> = {
  'lower-case letters': LOWER,
  'letters of both cases': [...LOWER, ...range(0x41, 0x5a)],
  'single-letter words': LOWER.map((letter) => ` ${letter}`),
  'words of random letters': [...LOWER, ...LOWER, ' ', ' '],
  'common words': spaced,
  'common words with anything around them': [
    ...spaced.slice(0, 200),
    ...ASCII,
    'é',
    '我',
    '\u0301',
  ],
  digits: range(0x30, 0x39),
  hexadecimal: [...'0123456789abcdef'],
  base64: [...LOWER, ...range(0x41, 0x5a), ...range(0x30, 0x39), '+', '/'],
  punctuation: [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'],
  'all of ASCII': ASCII,
  'white space': [' ', '  ', '   ', ' '.repeat(16), '\t', '\n', '\r\n', 'a', ' the'],
  code: [
    '    ',
    '\n',
    'return',
    ' const',
    '(',
    ');',
    '{',
    '}',
    ' =',
    ' x',
    '_id',
    '.map',
    "'",
    '=>',
    '//',
    '0',
  ],
  'accented Latin': [...range(0xa0, 0x24f), ...LOWER],
  'combining marks': [...range(0x300, 0x36f), ...range(0xc0, 0x24f), 'a', 'o'],
  Cyrillic: [...range(0x400, 0x4ff), ' '],
  Arabic: [...range(0x620, 0x64a), ...range(0x660, 0x6d3), ' '],
  Hebrew: [...range(0x5d0, 0x5ea), ...range(0x5b0, 0x5bd), ...range(0xfb1d, 0xfb4e)],
  Hindi: [...range(0x900, 0x97f), ' '],
  Thai: range(0xe01, 0xe3a),
  Chinese: range(0x4e00, 0x9fff),
  'Japanese and Korean': [...range(0x3041, 0x30ff), ...range(0xac00, 0xb000)],
  emoji: [...range(0x1f300, 0x1f64f), '\u200d', '\ufe0f', '🏳️‍🌈', '👨‍👩‍👧'],
  'rare characters': [
    ...range(0x1d15e, 0x1d164),
    ...range(0xe000, 0xe0ff),
    ...range(0x10fff0, 0x10fffd),
  ],
  'what decoders put for bytes that mean nothing': [
    '\ufffd',
    '\0',
    '\u0007',
    '\u007f',
    '\u0080',
    'a',
  ],
  'repeated oddities': [
    ' SolidGoldMagikarp',
    '<|endoftext|>',
    '<s>',
    '▁',
    'Ġ',
    '�',
    '####',
    '\\u0041',
  ],
  everything: [
    ...ASCII,
    ...range(0xc0, 0x17f),
    ...range(0x4e00, 0x4eff),
    '😀',
    '  ',
    '\n',
    ...spaced.slice(0, 99),
  ],
}
const kinds = Object.entries(ALPHABETS)

describe.each(TOKENIZERS)('the estimate is never below the count of $name', ({ countTokens }) => {
  test.each(kinds)('%s', (_, pieces) => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 60, size: 'max' }), (drawn) => {
        const text = drawn.join('')
        expect(countTokens(text)).toBeLessThanOrEqual(estimate(text))
      }),
      { numRuns: 100 },
    )
  })

  test.each(kinds)('%s, made as hard as a climb can make it', (kind, pieces) => {
    for (const seed of [1, 2, 3]) {
      const { text, tokens } = hardestText(countTokens, { pieces, seed })
      const found = `seed ${seed}, ${kind}: ${JSON.stringify(text)}`
      expect(tokens, found).toBeLessThanOrEqual(estimate(text))
    }
  })

  test('any text of any characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        expect(countTokens(text)).toBeLessThanOrEqual(estimate(text))
      }),
      { numRuns: 500 },
    )
  })
})

interface ClimbInput {
  readonly pieces: readonly string[]
  readonly seed: number
}

/** Changes a random text piece by piece, keeping each change that brings tokens nearer to the estimate. */
function hardestText(countTokens: Tokenizer['countTokens'], { pieces, seed }: ClimbInput) {
  let state = seed
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
  const draw = () => pieces[below(pieces.length)] ?? ''
  let best = Array.from({ length: 6 * seed }, draw)
  let bestScore = 0
  for (let round = 0; round < 250; round++) {
    const tried = [...best]
    const at = below(tried.length)
    const change = below(3)
    if (change === 0) tried[at] = draw()
    else if (change === 1) tried.splice(at, 0, draw())
    else if (tried.length > 2) tried.splice(at, 1)
    const text = tried.join('')
    const score = countTokens(text) / estimate(text)
    if (score < bestScore) continue
    best = tried
    bestScore = score
  }
  const text = best.join('')
  return { text, tokens: countTokens(text) }
}

describe('the estimate', () => {
  test.each(TOKENIZERS)(
    'of English prose is below 2.2 times the tokens of $name',
    ({ countTokens }) => {
      const text = ENGLISH_PROSE.join('\n\n')
      expect(estimate(text)).toBeLessThan(2.2 * countTokens(text))
    },
  )

  test.each([
    ['', 0],
    ['a', 1],
    // A letter, and two thirds for each that tokenizers merge with the one before.
    ['there', 4],
    ['qzxj', 4],
    // A common word takes its space with it.
    [' there', 1],
    [' there there', 2],
    [' theres', 5],
    [' there_', 6],
    ['  there', 6],
    ['12345', 5],
    ['{"a":1}', 7],
    [' '.repeat(2), 2],
    [' '.repeat(14), 3],
    [' '.repeat(15), 4],
    ['é', 1],
    ['Ŧ', 2],
    ['я', 1],
    ['中', 3],
    ['😀', 4],
    ['\u0301', 4],
    ['\ufb4b', 9],
  ])('of %j is %d', (text, tokens) => {
    expect(estimate(text)).toBe(tokens)
  })

  test('of any bytes is a whole number', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const tokens = estimateTextTokens(bytes)
        expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true)
      }),
    )
  })

  test('in parts of any size is that of the whole', () => {
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom(' the ', 'qx', '  ', 'é', '中'), fc.string({ maxLength: 1 })),
    })
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
        (text, sizes) => {
          const bytes = Buffer.from(text)
          const inParts = new TextEstimate(bytes)
          for (let part = 0; !inParts.isWhole; part++) {
            inParts.readOn(sizes[part % sizes.length] ?? 1)
          }
          expect(inParts.tokens).toBe(estimateTextTokens(bytes))
        },
      ),
    )
  })

  test('leaves room for every character that canonical composition makes longer', () => {
    for (let point = 0x80; point < 0x30_000; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue
      const character = String.fromCodePoint(point)
      const composed = Buffer.byteLength(character.normalize('NFC'))
      if (composed <= Buffer.byteLength(character)) continue
      expect(estimate(character), point.toString(16)).toBeGreaterThanOrEqual(composed)
    }
  })
})

describe('every common word', () => {
  test.each(TOKENIZERS)('is one token of $name', ({ countTokens }) => {
    // Between words of its kind, as in prose: at the start, some tokenizers add a space.
    expect(COMMON_WORDS.filter((word) => countTokens(` the ${word} the`) !== 3)).toEqual([])
  })

  test('is written as the estimate looks it up', () => {
    expect(COMMON_WORDS.filter((word) => !/^[a-z]{1,10}$/.test(word))).toEqual([])
    expect(new Set(COMMON_WORDS).size).toBe(COMMON_WORDS.length)
    expect(COMMON_WORDS.filter((word) => estimate(` ${word}`) !== 1)).toEqual([])
  })
})

describe('every pair of letters that counts for less', () => {
  // Three of a pair apart from each other: nine tokens, or eight where the second letter is discounted.
  const isDiscounted = (pair: string) => estimate(`1${pair}`.repeat(3)) === 8
  const pairs = LOWER.flatMap((first) => LOWER.map((second) => `${first}${second}`)).filter(
    isDiscounted,
  )

  test.each(TOKENIZERS)('is one token of $name', ({ countTokens }) => {
    expect(pairs.length).toBeGreaterThan(400)
    expect(pairs.filter((pair) => countTokens(pair) !== 1)).toEqual([])
  })
})
