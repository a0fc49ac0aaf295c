import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chat } from '../../formats/chat.ts'
import { callOf } from '../../formats/testing/exchange.ts'
import { guessBytes } from '../../formats/token-guess.ts'
import { ENGLISH_PROSE } from '../../tokens/testing/prose.ts'
import { TOKENIZERS, type Tokenizer } from '../../tokens/testing/tokenizers.ts'
import { callWith, offerWith } from '../hold-size/testing/offers.ts'
import { estimateUsage, TokenFactors } from './usage-charge.ts'

/* How far the estimate of an uncounted call is from what real tokenizers count. */

const CHINESE =
  '这座小镇的历史可以追溯到十二世纪，当时商人们沿着河流修建了第一批仓库。后来铁路改变了一切：年轻人离开了家乡，' +
  '老房子一间接一间地空了下来。今天，镇上的居民正在努力保护剩下的建筑，并且每年夏天举办一次集市，吸引附近城市的游客。'
const RUSSIAN =
  'История этого маленького города начинается в двенадцатом веке, когда купцы построили первые склады у реки. ' +
  'Потом железная дорога изменила всё: молодые люди уезжали, а старые дома один за другим пустели. Сегодня жители ' +
  'стараются сохранить то, что осталось, и каждое лето устраивают ярмарку для гостей из соседних городов.'
const CODE = readFileSync(join(import.meta.dirname, 'resolve.ts'), 'utf8').slice(0, 4_000)

const TEXTS = {
  English: ENGLISH_PROSE.join(' '),
  Chinese: CHINESE.repeat(3),
  Russian: RUSSIAN.repeat(3),
  code: CODE,
  hi: 'hi',
} as const

/**
 * The tokens that chat models count in addition to the text of a message: its role, its borders and the start of the
 * answer.
 */
const TEMPLATE_TOKENS = 7
const COARSE = 'llama2'

const OFFER = offerWith({})

function asked(text: string) {
  const call = callOf(chat, { model: OFFER.modelId, messages: [{ role: 'user', content: text }] })
  const counted = (tokenizer: Tokenizer) => tokenizer.countTokens(text) + TEMPLATE_TOKENS
  return { call, counted }
}

function usageOf(inputTokens: number) {
  const { inputTokens: _, ...rest } = estimateUsage({
    call: callWith(),
    offer: OFFER,
    tokenFactor: 1,
    outputTokens: 0,
  })
  return { ...rest, inputTokens }
}

const each = Object.entries(TEXTS).flatMap(([name, text]) =>
  TOKENIZERS.map((tokenizer) => [name, tokenizer.name, { text, tokenizer }] as const),
)

// A tokenizer with 32,000 pieces and few non-Latin letters: only its learned factor is a measure.
const early = each.filter(([name, tokenizer]) => tokenizer !== COARSE || name !== 'Chinese')
// A short prompt is mostly what the provider puts around it: no factor is learned of one.
const late = each.filter(([name]) => name !== 'hi')

function estimateAt(
  tokenFactor: number,
  { text, tokenizer }: { readonly text: string; readonly tokenizer: Tokenizer },
) {
  const { call, counted } = asked(text)
  const usage = estimateUsage({ call, offer: OFFER, tokenFactor, outputTokens: 0 })
  return usage.inputTokens / counted(tokenizer)
}

test.each(early)(
  '%s, as %s counts it, is at first estimated between half and double',
  (_, __, of) => {
    const ratio = estimateAt(1, of)
    expect(ratio).toBeGreaterThanOrEqual(1 / 2)
    expect(ratio).toBeLessThanOrEqual(2)
  },
)

test.each(late)(
  '%s, as %s counts it, is estimated within a third after 32 answers',
  (_, __, of) => {
    const factors = new TokenFactors()
    const parts = of.text.match(/.{400}/gsu) ?? []
    for (let answer = 0; answer < 32; answer++) {
      const part = asked(parts[answer % parts.length] ?? of.text)
      factors.learn(part.call, { offer: OFFER, usage: usageOf(part.counted(of.tokenizer)) })
    }
    const ratio = estimateAt(factors.factorOf(OFFER), of)
    expect(ratio).toBeGreaterThanOrEqual(2 / 3)
    expect(ratio).toBeLessThanOrEqual(4 / 3)
  },
)

test("the tokens of an answer's text are guessed from its bytes, like those of a prompt", () => {
  const guess = (text: string) => asked(text).call.promptGuess - asked('').call.promptGuess
  for (const text of [...Object.values(TEXTS), '🌲🌳 a é 中', '']) {
    expect(guessBytes(Buffer.from(text))).toBe(guess(text))
  }
})

describe('a factor', () => {
  const learned = (...ratios: readonly number[]): number => {
    const factors = new TokenFactors()
    const call = callWith({ promptGuess: 60 * 1_000 })
    for (const ratio of ratios) {
      factors.learn(call, { offer: OFFER, usage: usageOf(1_000 * ratio) })
    }
    return factors.factorOf(OFFER)
  }

  test('is 1 at first, and the mean of the last 32 answers', () => {
    expect(learned()).toBe(1)
    expect(learned(2, 1)).toBe(1.5)
    expect(learned(...Array<number>(40).fill(3), ...Array<number>(32).fill(0.5))).toBe(0.5)
  })

  test('stays between a quarter and four for any counts', () => {
    expect(learned(1_000)).toBe(4)
    expect(learned(0.001)).toBe(0.25)
  })

  test('is separate for each upstream and model', () => {
    const factors = new TokenFactors()
    const call = callWith({ promptGuess: 60 * 1_000 })
    factors.learn(call, { offer: OFFER, usage: usageOf(2_000) })
    expect(factors.factorOf({ ...OFFER, upstream: 'other' })).toBe(1)
    expect(factors.factorOf({ ...OFFER, modelId: 'acme/other' })).toBe(1)
  })

  test.each([
    ['a short prompt', { promptGuess: 60 * 99 }],
    ['a prompt with a picture', { media: { ...callWith().media, imagesByUrl: 1 } }],
    ['a conversation that is summarized', { compacts: true }],
    ['a call with a search', { tools: { ...callWith().tools, serverTools: true } }],
  ])('learns nothing of %s', (_, fields) => {
    const factors = new TokenFactors()
    factors.learn(callWith(fields), { offer: OFFER, usage: usageOf(5_000) })
    expect(factors.factorOf(OFFER)).toBe(1)
  })
})
