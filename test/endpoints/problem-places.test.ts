import { expect, test } from 'vitest'
import { describedOperations } from '../../src/operations/operations.ts'
import { PROBLEMS, type ProblemCode, type ProblemPlace } from '../../src/vocabulary/problem.ts'
import { ROWS } from '../contract/rows.ts'
import { Management } from './management.ts'
import { operationsOf } from './openapi-reading.ts'

const admin = Management.ofFile()

const INFERENCE = new Set<string>(ROWS.map(({ path }) => path))

/** Codes that are listed for a place where they can't occur. */
function misplaced(codes: readonly unknown[], place: ProblemPlace): string[] {
  return codes.map(String).filter((code) => !PROBLEMS[code as ProblemCode].places.includes(place))
}

test('no operation of /openapi.json lists an error code that cannot occur there', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  const said = operationsOf(document).flatMap(({ path, json }) => {
    const place = INFERENCE.has(path) ? 'inference' : 'management'
    const codes = Object.values(Object(json['responses'])).flatMap(
      (each) => Object(each)['x-codes'] ?? [],
    )
    return misplaced(codes, place).map((code) => `${path}: ${code}`)
  })
  expect(said).toEqual([])
})

test('a chat lists the error codes that can occur in a chat, and none of people, sales or operators', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  const chat = operationsOf(document).find(({ path }) => path === '/v1/chat/completions')
  const codes = Object.values(Object(chat?.json['responses'])).flatMap(
    (each) => Object(each)['x-codes'] ?? [],
  )
  expect(codes).toEqual(
    expect.arrayContaining(['account_suspended', 'insufficient_credit', 'upstream_error']),
  )
  for (const code of ['last_operator', 'card_refused', 'invalid_sign_in', 'chain_unavailable']) {
    expect(codes).not.toContain(code)
  }
})

test('a refusal that only some formats have is listed only for those formats', async () => {
  const document = (await admin.get('/openapi.json', null)).json
  const saying = (code: string) =>
    operationsOf(document).flatMap(({ name, json }) =>
      JSON.stringify(json['responses']).includes(`"${code}"`) ? [name] : [],
    )
  expect(saying('missing_prompt')).toEqual(['create_completions'])
  const capped = saying('output_cap_required')
  expect(capped).toEqual(expect.arrayContaining(['create_responses', 'create_messages']))
  for (const endpoint of ['chat', 'completions', 'embeddings', 'images']) {
    expect(capped).not.toContain(`create_${endpoint}`)
  }
})

test('no operation of the page lists an error code that cannot occur there', () => {
  const said = describedOperations().flatMap(({ name, paths, problems }) => {
    if (paths.member === undefined && paths.operator === undefined) return []
    return misplaced(problems, 'page').map((code) => `${name}: ${code}`)
  })
  expect(said).toEqual([])
})
