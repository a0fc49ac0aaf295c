import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { worldOfFile } from '../world.ts'
import { ADDRESS } from './page.ts'

/** docs/samples.md: the samples in curl and JavaScript, run as a person pastes them. */

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'samples.md'), 'utf8')
const LANGUAGES = ['curl', 'JavaScript', 'Python', 'Go', 'Java', 'C#', 'Ruby', 'PHP']

let apiKey: string

const world = worldOfFile()
beforeAll(async () => {
  apiKey = (await world.account()).apiKey
})

/** The blocks of a language: a chat, a stream and a tool call. */
function samplesOf(language: string): readonly string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${language}\n`)) ?? ''
  return [...section.matchAll(/```\w+\n(.*?)```/gs)].map(([, block = '']) => block)
}

const TASKS = [
  { task: 'a chat', at: 0, answers: /Say hello\./ },
  { task: 'a stream', at: 1, answers: /hello/ },
  { task: 'a tool call', at: 2, answers: /get_weather|The tool answered: .*21/ },
]

test.each(TASKS)('$task in curl runs as printed', async ({ at, answers }) => {
  const command = samplesOf('curl')[at]?.replace(ADDRESS, world.url('').replace(/\/$/, '')) ?? ''
  const { stdout } = await run('sh', ['-c', command], {
    env: { ...process.env, TOLLGATE_API_KEY: apiKey },
  })
  expect(stdout).toMatch(answers)
})

test.each(TASKS)('$task in JavaScript runs as printed', async ({ at, answers }) => {
  const code = samplesOf('JavaScript')[at]?.replace(ADDRESS, world.url('').replace(/\/$/, '')) ?? ''
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: ROOT,
    env: { ...process.env, TOLLGATE_API_KEY: apiKey },
  })
  expect(stdout).toMatch(answers)
})

test('each language has a chat, a stream and a tool call, for the address of the first start', () => {
  for (const language of LANGUAGES) {
    const samples = samplesOf(language)
    expect([language, samples.length]).toEqual([language, TASKS.length])
    for (const sample of samples) expect(sample).toContain(`${ADDRESS}/v1`)
  }
})
