import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '../vocabulary/problem.ts'
import { parseJsonBody } from './body.ts'
import { JSON_DEPTH_MAX, surveyJson } from './bound.ts'

const MIB = 1024 * 1024
const TOO_MANY = `The body is nested deeper than ${JSON_DEPTH_MAX} levels, or has more values than the gateway reads.`
const NO_BOUND = Number.MAX_SAFE_INTEGER

/** The problem that a body is refused with; null if it is taken. */
function refusalOf(body: string | Buffer): Problem | null {
  try {
    parseJsonBody(Buffer.from(body))
    return null
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** A body that is one piece, over and over: no valid JSON, but as much of it as makes the difference. */
const filled = (mebibytes: number, piece: string, start = '') =>
  Buffer.concat([Buffer.from(start), Buffer.alloc(mebibytes * MIB, piece)])

/** Members whose keys are all different. */
const distinctKeys = (count: number, key: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => `"${key(i)}":1`).join(',')

describe('a tree that would cost more than 64 MB is not built', () => {
  test.each<[string, Buffer]>([
    ['16 million arrays, each in the one before', filled(16, '[')],
    ['30 MB of objects', filled(30, '{},', '{"x":[')],
    ['30 MB of arrays', filled(30, '[],', '{"x":[')],
    ['64 MB of strings', filled(64, '"",', '{"x":[')],
    ['64 MB of numbers', filled(64, '1,', '{"x":[')],
    ['64 MB of members', filled(64, '"a":1,', '{')],
    ['64 MB of literals', filled(64, 'null,', '{"x":[')],
    ['64 MB of fractions', filled(64, '1.5,', '{"x":[')],
    ['64 MB that is not JSON', filled(64, '[1"a":{:]')],
    ['64 MB of strings with escapes', filled(64, '"\\"\\\\",', '{"x":[')],
    ['64 MB nested to 500', filled(64, '['.repeat(500) + ']'.repeat(500), '{"x":[')],
  ])('%s', async (_, body) => {
    const worker = new Worker(new URL('./testing/parse-in-small-heap.ts', import.meta.url), {
      workerData: body,
      resourceLimits: { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8 },
    })
    expect(await once(worker, 'message')).toEqual([`invalid_json: ${TOO_MANY}`])
    await worker.terminate()
  })

  test.each([
    ['in one object', `{"x":{${distinctKeys(100_000, (i) => `a${i}`)}}}`],
    ['that are numbers', `{"x":{${distinctKeys(100_000, (i) => `${i * 7}`)}}}`],
    [
      'each in its own object',
      `{"x":[{${distinctKeys(100_000, (i) => `a${i}`).replaceAll(',', '},{')}}]}`,
    ],
    ['that are escaped', `{"x":[${Array(80_000).fill('{"\\u0061":1}').join(',')}]}`],
    [
      'of which the many before let none be kept',
      `{"x":[${Array.from({ length: 100_000 }, (_, i) => `{"a${i % 5_000}":1}`).join(',')}]}`,
    ],
  ])('keys that the engine is slow to read count for more: %s', (_, body) => {
    expect(refusalOf(body)).toMatchObject({ code: 'invalid_json', message: TOO_MANY })
  })

  test('a hundred thousand objects of a few kinds are read', () => {
    const body = `{"x":[${Array.from({ length: 100_000 }, (_, i) => `{"type":"t","${'abcdef'[i % 6]}":${i}}`).join(',')}]}`
    expect(refusalOf(body)).toBeNull()
  })
})

describe('nesting', () => {
  const nested = (levels: number, [open = '', close = '']: readonly string[]) =>
    `{"x":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`

  test.each([
    ['arrays', ['[', ']']],
    ['objects', ['{"a":', '}']],
  ])('of 512 levels is read, of one more refused: %s', (_, brackets) => {
    expect(refusalOf(nested(512, brackets))).toBeNull()
    expect(refusalOf(nested(513, brackets))).toMatchObject({
      code: 'invalid_json',
      message: TOO_MANY,
    })
  })
})

describe('what is read', () => {
  const ids = (count: number, salt: number) =>
    Array.from({ length: count }, (_, i) => (i * 7_919 + salt) % 200_000).join(',')

  test.each([
    ['in one array', `{"model":"m","input":[${ids(2_000_000, 0)}]}`],
    [
      'in arrays of a prompt each',
      `{"model":"m","prompt":[${Array.from({ length: 2_000 }, (_, i) => `[${ids(1_000, i)}]`).join(',')}]}`,
    ],
  ])('two million token ids %s', (_, body) => {
    expect(refusalOf(body)).toBeNull()
  })

  test('a million tokens of chat with 5,000 tool calls', () => {
    const turns = Array.from({ length: 5_000 }, (_, i) => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Looking at the next file. '.repeat(8) },
          {
            type: 'tool_use',
            id: `toolu_${i}`,
            name: `tool_${i % 100}`,
            input: { [`argument_${i}`]: i, path: `/src/${i}.ts`, nested: { deep: [i, `${i}`] } },
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: `toolu_${i}`,
            content: [{ type: 'text', text: 'a line of a file of source code\\n'.repeat(20) }],
          },
        ],
      },
    ]).flat()
    expect(refusalOf(JSON.stringify({ model: 'm', messages: turns }))).toBeNull()
  })
})

describe('not JSON', () => {
  test.each([
    '"',
    '{"',
    '{"a',
    '{"a\\',
    '{"a"',
    '{"a":',
    '{"a":"\\',
    '}',
    ']]]]',
    '{"a":1}}}}',
    ':::',
    ',',
    '\\"',
    '\u0000',
    '-',
    '{"a":1e',
    '[}'.repeat(1_000),
    `"${'\\'.repeat(1_001)}`,
    `"${'\\"'.repeat(1_001)}`,
  ])('%j is refused as that, and counted without end or fault', (text) => {
    expect(surveyJson(Buffer.from(text), NO_BOUND)).not.toBeNull()
    expect(refusalOf(text)?.code).toBe('invalid_json')
  })

  test('any bytes are counted, at least the JSON before the fault', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.json(), (bytes, json) => {
        const alone = surveyJson(Buffer.from(json), NO_BOUND)
        const spoilt = Buffer.concat([Buffer.from(json), Buffer.from(','), bytes])
        const survey = surveyJson(spoilt, NO_BOUND)
        expect(surveyJson(Buffer.from(bytes), NO_BOUND)).not.toBeNull()
        expect(survey?.treeBytes).toBeGreaterThanOrEqual(alone?.treeBytes ?? 0)
      }),
      { numRuns: 2_000 },
    )
  })

  test('short bytes of any kind are accepted exactly if JSON.parse accepts them', () => {
    const pieces = fc.constantFrom(...'{}[]"\\:,1-ea \n', 'null')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = `{"x":${parts.join('')}}`
        expect(refusalOf(text) === null || isTwice(text)).toBe(isJson(text))
      }),
      { numRuns: 5_000 },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isTwice(text: string): boolean {
  return /^The body has the field `.*` twice\.$/s.test(refusalOf(text)?.message ?? '')
}

describe('the cost', () => {
  test.each([
    ['{}', 80],
    ['[]', 80],
    ['""', 80],
    ['0', 16],
    ['-12', 16],
    ['200000', 16],
    ['null', 16],
    ['false', 16],
    ['1.5', 32],
    ['-1e5', 32],
    ['1234567890', 32],
    ['{"a":1}', 80 + 40 + 16],
    ['{"a" \n: "b"}', 80 + 40 + 80],
    ['[1,"a:",{"b":[true]}]', 80 + 16 + 80 + 80 + 40 + 80 + 16],
    ['"a\\":b"', 80],
  ])('of %s is %i', (text, treeBytes) => {
    expect(surveyJson(Buffer.from(text), NO_BOUND)?.treeBytes).toBe(treeBytes)
    expect(surveyJson(Buffer.from(text), treeBytes)).not.toBeNull()
    expect(surveyJson(Buffer.from(text), treeBytes - 1)).toBeNull()
  })

  test('of any tree is that of its parts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(surveyJson(Buffer.from(text), NO_BOUND)?.treeBytes).toBe(costOf(JSON.parse(text)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('does not change with how deep its containers are', () => {
    const deep = '['.repeat(JSON_DEPTH_MAX) + ']'.repeat(JSON_DEPTH_MAX)
    expect(surveyJson(Buffer.from(deep), NO_BOUND)?.treeBytes).toBe(80 * JSON_DEPTH_MAX)
  })
})

function costOf(value: unknown): number {
  if (typeof value === 'string') return 80
  if (typeof value === 'number') return /^[-\d]{1,9}$/.test(JSON.stringify(value)) ? 16 : 32
  if (typeof value !== 'object' || value === null) return 16
  const members = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum, each) => sum + costOf(each), 80 + 40 * members)
}
