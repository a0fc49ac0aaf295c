import { describe, expect, test } from 'vitest'
import { readMarkdown } from './markdown-tokens.ts'

const types = (text: string) => readMarkdown(text)?.map(({ type }) => type)

describe('an answer in Markdown', () => {
  test('is read as its blocks', () => {
    expect(types('# Steps\n- one\n```sh\nls\n```')).toEqual(['heading', 'list', 'code'])
    expect(types('* * *')).toEqual(['hr'])
  })

  test.each([
    ['quotes', '>'.repeat(20_000)],
    ['quotes and lists', '> - '.repeat(20_000)],
    ['lists', '1. '.repeat(20_000)],
    ['text', 'Hello. '.repeat(30_000)],
  ])('with too many %s is shown as plain text', (_, text) => {
    expect(readMarkdown(text)).toBeNull()
  })

  test.each([
    ['underscores', '_a'],
    ['addresses', 'a.'],
    ['stars', '*a '],
  ])('leaves a paragraph of 40,000 %s unchanged', (_, piece) => {
    const text = `${piece.repeat(40_000)}@`
    const [, paragraph] = readMarkdown(`# Steps\n${text}`) ?? []
    expect(paragraph).toMatchObject({ tokens: [{ type: 'escape', text }] })
  })
})
